// SPDX-License-Identifier: Apache-2.0
import { badRequest, invalid, invalidPrinted, isJsonObject, type JsonObject } from "@purlin/kube-objects";
import type { AccessAttributes, AccessDecision, Authorizer } from "../auth/authorizer.ts";
import type { User } from "../auth/user.ts";
import { objectAt, textAt, valueAt } from "../builtin/read-field.ts";
import { type Question, type Review, withStatus } from "./review-resource.ts";
import { rulesReview } from "./rules-review.ts";

/** The reviews of the authorization group, answered by the authorizer that judges requests. */
export function accessReviews(authorizer: Authorizer): Readonly<Record<string, Review>> {
  const decided = (question: Question, user: User, access: AccessAttributes): JsonObject =>
    withStatus(question, verdict(authorizer(user, access)));
  return {
    selfsubjectaccessreviews: (question) =>
      decided(question, question.user, accessOf(objectAt(question.review, "spec"))),
    subjectaccessreviews: (question) =>
      decided(question, subjectOf(question.review), accessOf(objectAt(question.review, "spec"))),
    localsubjectaccessreviews: (question) =>
      decided(question, subjectOf(question.review), localAccess(question.review, question.namespace)),
    selfsubjectrulesreviews: rulesReview(authorizer),
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
