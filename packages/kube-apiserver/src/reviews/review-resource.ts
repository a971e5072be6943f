// SPDX-License-Identifier: Apache-2.0

import { inTurns } from "@purlin/base";
import { timestamp } from "@purlin/kube-objects/apply";
import type { JsonObject } from "@purlin/kube-objects/json";
import { objectAt, stringAt } from "@purlin/kube-objects/object";
import type { TokenAuthenticator } from "../auth/authenticate.ts";
import { authenticated, type User } from "../auth/user.ts";

import type { CompleteResponse } from "../request/api-request.ts";
import { admitUnstored } from "../rest/admitted-write.ts";
import { readBody, readObject } from "../rest/decode-object.ts";
import { negotiateForm, objectResponse } from "../rest/object-response.ts";
import type { SpecialResource } from "../rest/resources.ts";
import type { RestRequest } from "../rest/rest-context.ts";
import { writeOptions } from "../rest/write-options.ts";

/** A review that is asked for. */
export interface Question {
  /** As it was sent, with who sent it in its managedFields. */
  readonly review: JsonObject;
  readonly user: User;
  readonly namespace: string;
  readonly now: Date;
}

/** Answers a review. */
export type Review = (question: Question) => JsonObject;

/** The question with its status filled in. */
export function withStatus({ review }: Question, status: JsonObject): JsonObject {
  return { ...review, status };
}

/** Resources that are only asked, never stored. */
export function reviewResource(group: string, reviews: Readonly<Record<string, Review>>): SpecialResource {
  return (rest) => {
    const { type, target } = rest;
    const review = type.group === group && target.verb === "create" ? reviews[type.resource] : undefined;
    return review && answer(rest, review);
  };
}

async function answer(rest: RestRequest, review: Review): Promise<CompleteResponse> {
  const { request, target } = rest;
  const form = negotiateForm(request);
  const body = await readBody(rest);
  const options = writeOptions(request, "CreateOptions");
  const read = await inTurns(readObject(rest, body, options.fieldValidation));
  const object = withoutSystemFields(read, rest.type.namespaced);
  const { object: managed } = rest.strategy.storage.fieldManager("").update(undefined, object, options.manager);
  const admitted = await admitUnstored(rest, managed, options.dryRun);
  const question = { review: admitted, user: request.user, namespace: target.namespace, now: rest.now() };
  return { ...objectResponse(rest, review(question), form), code: 201 };
}

/** A review without the metadata that only the server sets, and without the namespace of a kind that has none. */
function withoutSystemFields(review: JsonObject, isNamespaced: boolean): JsonObject {
  const { uid: _, creationTimestamp: __, namespace, ...metadata } = objectAt(review, ["metadata"]);
  return { ...review, metadata: isNamespaced && namespace !== undefined ? { ...metadata, namespace } : metadata };
}

/** The reviews of the authentication group. */
export function authenticationReviews(tokens: () => readonly TokenAuthenticator[]): Readonly<Record<string, Review>> {
  return {
    selfsubjectreviews: ({ review, user, now }) => ({
      ...review,
      metadata: { creationTimestamp: timestamp(now) },
      status: { userInfo: userInfo(user) },
    }),
    tokenreviews: (question) =>
      withStatus(question, tokenStatus(stringAt(question.review, ["spec", "token"]), tokens())),
  };
}

function tokenStatus(token: string, authenticators: readonly TokenAuthenticator[]): JsonObject {
  for (const authenticate of authenticators) {
    const user = token === "" ? undefined : authenticate(token);
    if (user !== undefined) {
      return {
        authenticated: true,
        user: userInfo(authenticated(user)),
        audiences: ["https://kubernetes.default.svc"],
      };
    }
  }
  return { user: {}, error: "invalid bearer token" };
}

function userInfo({ name, uid, groups, extra }: User): JsonObject {
  return {
    username: name,
    ...(uid === undefined ? {} : { uid }),
    groups: [...groups],
    ...(extra === undefined ? {} : { extra: extra }),
  };
}
