// SPDX-License-Identifier: Apache-2.0
import { badRequest, conflict, isAlreadyExists, isNotFound, type JsonObject, notFound } from "@purlin/kube-objects";
import type { CompleteResponse } from "../request/api-response.ts";
import { applyUpdate } from "./apply-update.ts";
import { createApplied } from "./create.ts";
import { metaOf, withMeta } from "./object-meta.ts";
import { entryResponse, type ObjectForm, objectResponse } from "./object-response.ts";
import type { Endpoint } from "./object-strategy.ts";
import type { ApplyPatch } from "./patch-request.ts";
import type { RestRequest } from "./rest-context.ts";
import { objectKey } from "./storage-key.ts";

export interface ApplyRequest {
  readonly endpoint: Endpoint;
  readonly patch: ApplyPatch;
  readonly form: ObjectForm;
}

/** Somebody may create or delete the object between looking and writing; more often than this is no accident. */
const ATTEMPTS = 5;

/** Applies a configuration: what it says becomes so, what its manager said before and no longer says goes. */
export async function applyObject(rest: RestRequest, request: ApplyRequest): Promise<CompleteResponse> {
  const { store, target, type } = rest;
  const config = requireTarget(rest, request.patch.config);
  const key = objectKey(type, target.namespace, target.name);
  for (let attempt = 1; ; attempt += 1) {
    const exists = store.get(key) !== undefined;
    try {
      return await (exists ? applyToExisting(rest, config, request) : applyToNothing(rest, config, request));
    } catch (error) {
      const isRace = exists ? isNotFound(error) : isAlreadyExists(error);
      if (!isRace || attempt === ATTEMPTS || request.endpoint !== "") {
        throw error;
      }
    }
  }
}

function applyToExisting(
  rest: RestRequest,
  config: JsonObject,
  { endpoint, patch, form }: ApplyRequest,
): Promise<CompleteResponse> {
  const { options } = patch;
  const manager = rest.strategy.fieldManager(endpoint);
  const edit = (current: JsonObject): JsonObject => {
    const applied = manager.apply(current, config, { manager: options.manager, force: options.force });
    return applied === current ? current : decoded(rest, applied);
  };
  return applyUpdate(rest, { endpoint, edit, options, unconditional: true, comparesUid: false, tracked: true }, form);
}

async function applyToNothing(
  rest: RestRequest,
  config: JsonObject,
  { endpoint, patch, form }: ApplyRequest,
): Promise<CompleteResponse> {
  const { type, target, strategy } = rest;
  const { options } = patch;
  if (endpoint !== "") {
    throw notFound(type, target.name);
  }
  const applied = decoded(
    rest,
    strategy.fieldManager("").apply(undefined, config, { manager: options.manager, force: options.force }),
  );
  const { uid } = metaOf(applied);
  if (uid) {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(type, target.name, why);
  }
  const created = await createApplied(rest, applied, options);
  return "entry" in created
    ? entryResponse(rest, created.entry, form, 201)
    : objectResponse(rest, created.object, form, 201);
}

/** Fields the merged object must not have were refused before; here only defaults are missing. */
function decoded({ strategy }: RestRequest, object: JsonObject): JsonObject {
  return strategy.decode(object).object;
}

/** The configuration must be of the object of the URL; of which type it is the field manager checks. */
function requireTarget({ target, type }: RestRequest, config: JsonObject): JsonObject {
  const { name = "", namespace = "" } = metaOf(config);
  if (name !== "" && name !== target.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`);
  }
  if (type.namespaced && namespace !== "" && namespace !== target.namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  return name === "" ? withMeta(config, { name: target.name }) : config;
}
