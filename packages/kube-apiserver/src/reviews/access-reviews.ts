// SPDX-License-Identifier: Apache-2.0

import {
  badRequest,
  invalid,
  invalidPrinted,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@purlin/kube-objects";
import type { AccessAttributes, AccessDecision, Authorizer } from "../auth/authorizer.ts";
import { authenticated, type User } from "../auth/user.ts";
import { objectAt, textAt, valueAt } from "../builtin/read-field.ts";

/** Answers a review: the status to fill in. */
export type Review = (review: JsonObject, user: User, namespace: string) => JsonObject;

/** The reviews of the authorization group, answered by the authorizer that judges requests. */
export function accessReviews(authorizer: Authorizer): Readonly<Record<string, Review>> {
  return {
    selfsubjectaccessreviews: (review, user) => verdict(authorizer(user, accessOf(objectAt(review, "spec")))),
    subjectaccessreviews: (review) => verdict(authorizer(subjectOf(review), accessOf(objectAt(review, "spec")))),
    localsubjectaccessreviews: (review, _user, namespace) =>
      verdict(authorizer(subjectOf(review), localAccess(review, namespace))),
    selfsubjectrulesreviews: (_review, user) => rulesFor(authorizer, user),
  };
}

function verdict({ allowed, reason }: AccessDecision): JsonObject {
  return { allowed, ...(reason === "" ? {} : { reason }) };
}

function accessOf(spec: JsonObject): AccessAttributes {
  const resource = valueAt(spec, "resourceAttributes");
  const path = valueAt(spec, "nonResourceAttributes");
  if (isJsonObject(resource) === isJsonObject(path)) {
    const problem = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    const error = invalidPrinted("spec.resourceAttributes", "null", problem);
    throw invalid({ group: "authorization.k8s.io", kind: "" }, "", [error]);
  }
  if (isJsonObject(path)) {
    return { kind: "path", verb: textAt(path, "verb"), path: textAt(path, "path") };
  }
  const wanted = isJsonObject(resource) ? resource : {};
  const text = (name: string): string => textAt(wanted, name);
  return {
    kind: "resource",
    verb: text("verb"),
    group: text("group"),
    version: text("version"),
    resource: text("resource"),
    subresource: text("subresource"),
    namespace: text("namespace"),
    name: text("name"),
  };
}

function localAccess(review: JsonObject, namespace: string): AccessAttributes {
  const access = accessOf(objectAt(review, "spec"));
  if (access.kind !== "resource" || access.namespace !== namespace) {
    throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`);
  }
  return access;
}

function subjectOf(review: JsonObject): User {
  const spec = objectAt(review, "spec");
  const [name, uid] = [textAt(spec, "user"), textAt(spec, "uid")];
  const groups = valueAt(spec, "groups");
  if (name === "" && !Array.isArray(groups)) {
    throw badRequest('spec.user: Invalid value: "": at least one of user or group must be specified');
  }
  return { name, groups: Array.isArray(groups) ? groups.map(String) : [], ...(uid === "" ? {} : { uid }) };
}

/** Nobody here is allowed some things: it is everything or what everybody is. */
function rulesFor(authorizer: Authorizer, user: User): JsonObject {
  const anything: AccessAttributes = {
    kind: "resource",
    verb: "*",
    group: "*",
    version: "*",
    resource: "*",
    subresource: "",
    namespace: "",
    name: "",
  };
  const { allowed } = authorizer(authenticated(user), anything);
  const all: JsonValue[] = [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }];
  const everyPath: JsonValue[] = [{ verbs: ["*"], nonResourceURLs: ["*"] }];
  const publicPaths: JsonValue[] = [
    { verbs: ["get"], nonResourceURLs: ["/healthz", "/livez", "/readyz", "/version", "/version/"] },
  ];
  return { resourceRules: allowed ? all : [], nonResourceRules: allowed ? everyPath : publicPaths, incomplete: false };
}
