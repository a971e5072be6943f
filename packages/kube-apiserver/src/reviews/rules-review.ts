// SPDX-License-Identifier: Apache-2.0
import { badRequest, type JsonObject, type JsonValue } from "@purlin/kube-objects";
import type { AccessAttributes, Authorizer } from "../auth/authorizer.ts";
import { DEFAULT_GRANTS, type Grant } from "../auth/default-grants.ts";
import type { User } from "../auth/user.ts";
import { textAt } from "../builtin/read-field.ts";
import type { Review } from "./review-resource.ts";

/** What somebody may do: everything, or what the default grants give them, as far as the authorizer says so too. */
export function rulesReview(authorizer: Authorizer): Review {
  return ({ review, user }) => {
    if (textAt(review, "spec", "namespace") === "") {
      throw badRequest("no namespace on request");
    }
    const { apiVersion = "", kind = "" } = review;
    // The reference answers with a new object, not with the question.
    return { apiVersion, kind, metadata: {}, spec: {}, status: rulesFor(authorizer, user) };
  };
}

function rulesFor(authorizer: Authorizer, user: User): JsonObject {
  const may = (access: AccessAttributes): boolean => authorizer(user, access).allowed;
  const resourceRules = DEFAULT_GRANTS.flatMap((grant) => resourceRulesOf(grant, may));
  const nonResourceRules = DEFAULT_GRANTS.flatMap((grant) => pathRulesOf(grant, may));
  if (may(resourceAccess("*", "*", "*"))) {
    resourceRules.push({ verbs: ["*"], apiGroups: ["*"], resources: ["*"] });
  }
  if (may({ kind: "path", verb: "*", path: "*" })) {
    nonResourceRules.push({ verbs: ["*"], nonResourceURLs: ["*"] });
  }
  return { resourceRules, nonResourceRules, incomplete: false };
}

type May = (access: AccessAttributes) => boolean;

function resourceRulesOf({ resources }: Grant, may: May): JsonValue[] {
  return resources
    .filter(({ group, resources: names, verb }) => names.every((name) => may(resourceAccess(verb, group, name))))
    .map(({ group, resources: names, verb }) => ({ verbs: [verb], apiGroups: [group], resources: names }));
}

function pathRulesOf({ paths }: Grant, may: May): JsonValue[] {
  const isAllowed = paths.length > 0 && paths.every((path) => may({ kind: "path", verb: "get", path }));
  return isAllowed ? [{ verbs: ["get"], nonResourceURLs: paths }] : [];
}

function resourceAccess(verb: string, group: string, resource: string): AccessAttributes {
  return { kind: "resource", verb, group, version: "*", resource, subresource: "", namespace: "", name: "" };
}
