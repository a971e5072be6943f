// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import { inTurns } from "@purlin/kube-objects/turns";
import type { User } from "../auth/user.ts";
import type { CompleteResponse } from "../request/api-response.ts";
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
  const object = await inTurns(readObject(rest, body, options.fieldValidation));
  const { object: managed } = rest.strategy.storage.fieldManager("").update(undefined, object, options.manager);
  const question = { review: managed, user: request.user, namespace: target.namespace, now: rest.now() };
  return objectResponse(rest, review(question), form, 201);
}
