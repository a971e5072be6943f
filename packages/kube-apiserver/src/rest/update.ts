// SPDX-License-Identifier: Apache-2.0
import { type AwaitingWork, inTurns, type Work } from "@purlin/base";
import {
  badRequest,
  conflict,
  invalid,
  invalidValue,
  isAlreadyExists,
  isNotFound,
  isStatusError,
  notFound,
  patchNotApplicable,
  unclassifiedError,
} from "@purlin/kube-objects/errors";
import {
  compareUtf8,
  type Fractions,
  goQuote,
  isJsonObject,
  type JsonObject,
  sortedKeys,
} from "@purlin/kube-objects/json";
import { parseApiVersion } from "@purlin/kube-objects/object";
import { patchResultInvalid, strictDecodingText } from "@purlin/kube-objects/patch";
import { requireConvertible, TypedFormError } from "@purlin/kube-objects/typed";
import { dedupedOwners, metaOf, withMeta } from "../objects/object-members.ts";
import { apiVersionOf, objectKey, type ResourceType } from "../registry/registry.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import { type DecodedObject, type Endpoint, tracking } from "../strategy/object-strategy.ts";
import { applyUpdate, otherUid, type UpdatePlan } from "./apply-update.ts";
import { createApplied, createdResponse, createFrom } from "./create.ts";
import {
  decodedObject,
  mostFindings,
  noteFindings,
  readBody,
  readObject,
  shownFindings,
  withResetMark,
  withType,
} from "./decode-object.ts";
import { negotiateForm, type ObjectForm } from "./object-response.ts";
import { type ApplyPatch, type ChangePatch, readPatchRequest } from "./patch-request.ts";
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

/** Changes an object, or a part of it, by a patch. */
export async function patchObject(rest: RestRequest, endpoint: Endpoint): Promise<CompleteResponse> {
  const { request, strategy, type } = rest;
  const form = negotiateForm(request);
  const patch = await readPatchRequest(request, strategy.decoder.strategicMerge?.bind(strategy.decoder));
  if (patch.isApply) return applyObject(rest, { endpoint, patch, form });
  const edit = (current: JsonObject): Work<JsonObject> => patched(rest, current, patch);
  const unconditional = type.rules.unconditionalUpdate;
  const plan = { endpoint, edit, options: patch.options, unconditional, comparesUid: false, tracked: false };
  return applyUpdate(rest, plan, form);
}

/** The object after the patch, read like a new one. Warnings about it go into the notes of the request. */
export function* patched(rest: RestRequest, current: JsonObject, patch: ChangePatch): Work<JsonObject> {
  const { value: result, fractions } = yield* patch.apply(current);
  if (!isJsonObject(result)) throw patchNotApplicable();
  yield;
  const { object, unknownFields } = yield* read(rest, result, { current, patch, fractions });
  const total = patch.findings.length + unknownFields.length;
  const unknown = unknownFields.slice(0, mostFindings).map((path) => `unknown field ${goQuote(path)}`);
  const findings = [...patch.findings, ...unknown];
  const { fieldValidation } = patch.options;
  if (total > 0 && fieldValidation === "Strict") {
    throw patchResultInvalid(patch.shown(current), strictDecodingText(shownFindings(findings, total)));
  }
  if (fieldValidation === "Warn") noteFindings(rest, findings, total);
  const owned = dedupedOwners(atTarget(rest, object));
  rest.notes.push(...owned.warnings);
  return owned.object;
}

interface Patching {
  readonly current: JsonObject;
  readonly patch: ChangePatch;
  readonly fractions: Fractions | undefined;
}

function* read(rest: RestRequest, result: JsonObject, { current, patch, fractions }: Patching): Work<DecodedObject> {
  const { strategy, type } = rest;
  const typed = withType(result, { apiVersion: apiVersionOf(type), kind: type.kind }, false);
  try {
    if (patch.isConverted) {
      yield* requireConvertible(typed);
      yield;
      const { object, unknownFields } = yield* decodedObject(strategy, withResetMark(rest, typed));
      return { object, unknownFields: unknownFields.toSorted(compareUtf8) };
    }
    if (result["apiVersion"] === undefined && !type.custom) {
      // Without a version the reference reads it as a type whose fields have no names in JSON.
      return {
        object: {},
        unknownFields: sortedKeys(result).filter((name) => name !== "apiVersion" && name !== "kind"),
      };
    }
    requireSameType(rest, result, () => patch.shown(current));
    return yield* decodedObject(strategy, withResetMark(rest, typed), fractions);
  } catch (error) {
    if (isStatusError(error)) throw error;
    throw patchResultInvalid(patch.shown(current), error instanceof Error ? error.message : String(error));
  }
}

/** A patch cannot make an object one of another type. */
function requireSameType({ strategy, type }: RestRequest, result: JsonObject, shown: () => string): void {
  const [apiVersion, kind] = [String(result["apiVersion"] ?? ""), String(result["kind"] ?? "")];
  if (type.custom) {
    requireCustomType(type, result, shown);
    return;
  }
  const problem = kind === "" ? undefined : strategy.decoder.kindProblem?.({ kind, apiVersion, value: result });
  if (problem !== undefined) throw new Error(problem);
}

function requireCustomType(type: ResourceType, result: JsonObject, shown: () => string): void {
  const { apiVersion = "", kind = "" } = result;
  if (kind === "") throw new Error(`Object 'Kind' is missing in '${shown()}'`);
  const expected = { kind: type.kind, apiVersion: apiVersionOf(type) };
  const errors = Object.entries(expected)
    .filter(([name, value]) => result[name] !== value)
    .map(([name, value]) => invalidValue(name, result[name] ?? "", `must be ${value}`));
  if (errors.length > 0) {
    const { group } = parseApiVersion(String(apiVersion));
    throw invalid({ group, kind: String(kind) }, metaOf(result).name ?? "", errors);
  }
}

interface ApplyRequest {
  readonly endpoint: Endpoint;
  readonly patch: ApplyPatch;
  readonly form: ObjectForm;
}

/** Another client may create or delete the object between read and write; more attempts than this are a problem. */
const attempts = 5;

/** Applies a configuration: what it says becomes so, what its manager said before and no longer says goes. */
async function applyObject(rest: RestRequest, request: ApplyRequest): Promise<CompleteResponse> {
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
    return merged === current ? current : atTarget(rest, yield* decoded(rest, merged, request.patch.config));
  };
  return applyUpdate(rest, { endpoint, edit, options, unconditional: true, comparesUid: false, tracked: true }, form);
}

async function applyToNothing(rest: RestRequest, request: ApplyRequest): Promise<CompleteResponse> {
  const { type, target } = rest;
  const { endpoint, patch, form } = request;
  if (endpoint !== "") throw notFound(type, target.name);
  const merged = await inTurns(merge(rest, request, undefined));
  const applied = await inTurns(decoded(rest, merged, request.patch.config));
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
function* decoded({ strategy, type }: RestRequest, object: JsonObject, config: JsonObject): Work<JsonObject> {
  try {
    if (!type.custom) yield* requireConvertible(object);
    yield;
    return strategy.decoder.decodeApplied?.(object) ?? (yield* decodedObject(strategy, object)).object;
  } catch (error) {
    if (!(error instanceof TypedFormError)) throw error;
    const { namespace = "", name = "" } = metaOf(config);
    const kind = `${type.group === "" ? "/" : ""}${apiVersionOf(type)}, Kind=${type.kind}`;
    const what = `failed to convert new object (${namespace}/${name}; ${kind}) to proper version`;
    throw unclassifiedError(`${what}: unable to convert unstructured object to ${kind}: ${error.message}`, error);
  }
}
