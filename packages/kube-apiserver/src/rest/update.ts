// SPDX-License-Identifier: Apache-2.0

import { inTurns } from "@purlin/base";
import { badRequest } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dedupedOwners, metaOf, withMeta } from "../objects/object-meta.ts";
import { objectKey } from "../registry/registry.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import type { Endpoint } from "../strategy/object-strategy.ts";
import { applyUpdate, otherUid, type UpdatePlan } from "./apply-update.ts";
import { createdResponse, createFrom } from "./create.ts";
import { readBody, readObject } from "./decode-object.ts";
import { negotiateForm } from "./object-response.ts";
import type { RestRequest } from "./rest-context.ts";
import { type WriteOptions, writeOptions } from "./write-options.ts";

/** Replaces an object, or a part of it, by what was sent. */
export async function updateObject(rest: RestRequest, endpoint: Endpoint): Promise<CompleteResponse> {
  const { request, type } = rest;
  const form = negotiateForm(request);
  const body = await readBody(rest);
  const options = writeOptions(request, "UpdateOptions");
  const object = await inTurns(readObject(rest, body, options.fieldValidation));
  const sent = atTarget(rest, object);
  const { createOnUpdate, unconditionalUpdate } = type.rules;
  if (createOnUpdate && endpoint === "" && !exists(rest)) {
    return createdResponse(rest, await createInstead(rest, sent, options), form);
  }
  const owned = dedupedOwners(sent);
  const plan: UpdatePlan = {
    endpoint,
    // biome-ignore lint/correctness/useYield: nothing is left to do in parts
    *edit() {
      return owned.object;
    },
    options,
    unconditional: unconditionalUpdate,
    comparesUid: true,
    tracked: false,
  };
  rest.notes.push(...owned.warnings);
  return applyUpdate(rest, plan, form);
}

function exists({ store, type, target }: RestRequest): boolean {
  return store.get(objectKey(type, target.namespace, target.name)) !== undefined;
}

function createInstead(rest: RestRequest, sent: JsonObject, options: WriteOptions): ReturnType<typeof createFrom> {
  const { uid = "" } = metaOf(sent);
  if (uid !== "") throw otherUid(rest, uid, "");
  return createFrom(rest, withMeta(sent, { resourceVersion: undefined }), options);
}

/** The object must be the one of the URL; a namespace it leaves out is filled in. */
export function atTarget({ target, type }: RestRequest, object: JsonObject): JsonObject {
  const { name = "", namespace = "" } = metaOf(object);
  if (name === "") {
    throw badRequest(`the name of the object (${target.name} based on URL) was undeterminable: name must be provided`);
  }
  if (name !== target.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`);
  }
  if (type.namespaced && namespace !== "" && namespace !== target.namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  return type.namespaced ? withMeta(object, { namespace: target.namespace }) : object;
}
