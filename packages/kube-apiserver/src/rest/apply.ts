// SPDX-License-Identifier: Apache-2.0

import { type AwaitingWork, inTurns } from "@purlin/base";
import {
  badRequest,
  conflict,
  isAlreadyExists,
  isNotFound,
  notFound,
  unclassifiedError,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { requireConvertible, TypedFormError } from "@purlin/kube-objects/typed";
import { metaOf } from "../objects/object-meta.ts";
import { apiVersionOf, objectKey } from "../registry/resource-type.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import { type Endpoint, tracking } from "../strategy/object-strategy.ts";
import { applyUpdate } from "./apply-update.ts";
import { createApplied, createdResponse } from "./create.ts";
import type { ObjectForm } from "./object-response.ts";
import type { ApplyPatch } from "./patch-request.ts";
import type { RestRequest } from "./rest-context.ts";
import { atTarget } from "./update.ts";

interface ApplyRequest {
  readonly endpoint: Endpoint;
  readonly patch: ApplyPatch;
  readonly form: ObjectForm;
}

/** Another client may create or delete the object between read and write; more attempts than this are a problem. */
const attempts = 5;

/** Applies a configuration: what it says becomes so, what its manager said before and no longer says goes. */
export async function applyObject(rest: RestRequest, request: ApplyRequest): Promise<CompleteResponse> {
  const { store, target, type } = rest;
  const key = objectKey(type, target.namespace, target.name);
  for (let attempt = 1; ; attempt += 1) {
    const exists = store.get(key) !== undefined;
    try {
      return await (exists ? applyToExisting(rest, request) : applyToNothing(rest, request));
    } catch (error) {
      const isRace = exists ? isNotFound(error) : isAlreadyExists(error);
      if (!isRace || attempt === attempts || request.endpoint !== "") throw error;
    }
  }
}

function applyToExisting(rest: RestRequest, request: ApplyRequest): Promise<CompleteResponse> {
  const { endpoint, patch, form } = request;
  const { options } = patch;
  const edit = function* (current: JsonObject): AwaitingWork<JsonObject> {
    const merged = yield* merge(rest, request, current);
    yield;
    return merged === current ? current : atTarget(rest, decoded(rest, merged, request.patch.config));
  };
  return applyUpdate(rest, { endpoint, edit, options, unconditional: true, comparesUid: false, tracked: true }, form);
}

async function applyToNothing(rest: RestRequest, request: ApplyRequest): Promise<CompleteResponse> {
  const { type, target } = rest;
  const { endpoint, patch, form } = request;
  if (endpoint !== "") throw notFound(type, target.name);
  const merged = await inTurns(merge(rest, request, undefined));
  const applied = decoded(rest, merged, request.patch.config);
  const { uid } = metaOf(applied);
  if (uid) {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(type, target.name, why);
  }
  const created = await createApplied(rest, atTarget(rest, applied), patch.options);
  return createdResponse(rest, created, form);
}

/** The configuration merged into what is there. Only then does it matter that keys come twice in it, as in the reference. */
function* merge(
  rest: RestRequest,
  { endpoint, patch }: ApplyRequest,
  live: JsonObject | undefined,
): AwaitingWork<JsonObject> {
  const { options, config, duplicates } = patch;
  const merged = yield* tracking(rest.strategy.storage, endpoint, (manager) =>
    manager.applying(live, config, { manager: options.manager, force: options.force }),
  );
  if (duplicates !== undefined && options.fieldValidation === "Strict") {
    throw badRequest(`error strict decoding YAML: ${duplicates}`);
  }
  if (duplicates !== undefined && options.fieldValidation === "Warn") rest.notes.push(duplicates);
  return merged;
}

/** The merged object with defaults. Its fields have been checked, but not what is written in those that are texts. */
function decoded({ strategy, type }: RestRequest, object: JsonObject, config: JsonObject): JsonObject {
  try {
    if (!type.custom) requireConvertible(object);
    return strategy.decoder.decodeApplied?.(object) ?? strategy.decoder.decode(object).object;
  } catch (error) {
    if (!(error instanceof TypedFormError)) throw error;
    const { namespace = "", name = "" } = metaOf(config);
    const kind = `${type.group === "" ? "/" : ""}${apiVersionOf(type)}, Kind=${type.kind}`;
    const what = `failed to convert new object (${namespace}/${name}; ${kind}) to proper version`;
    throw unclassifiedError(`${what}: unable to convert unstructured object to ${kind}: ${error.message}`, error);
  }
}
