// SPDX-License-Identifier: Apache-2.0

import { type AwaitingWork, inTurns } from "@purlin/base";
import { createFieldManager, type FieldManager } from "@purlin/kube-objects/apply";
import {
  badRequest,
  conflict,
  internalError,
  invalid,
  invalidValue,
  isBadRequest,
  notFound,
  unclassifiedError,
} from "@purlin/kube-objects/errors";
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { numberAt } from "@purlin/kube-objects/object";
import { metaOf, withMeta } from "../objects/object-members.ts";
import { objectKey, type ResourceType } from "../registry/registry.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import { applyUpdate, type UpdateAdmission, type UpdatePlan, updateAdmission } from "../rest/apply-update.ts";
import { decodedObject, readBody, readObject } from "../rest/decode-object.ts";
import { convertedEntry } from "../rest/object-codec.ts";
import { negotiateForm, type ObjectForm, objectResponse } from "../rest/object-response.ts";
import { type ApplyPatch, readPatchRequest } from "../rest/patch-request.ts";
import type { SpecialResource } from "../rest/resources.ts";
import type { RestRequest } from "../rest/rest-context.ts";
import { atTarget, patched } from "../rest/update.ts";
import { writeOptions } from "../rest/write-options.ts";
import { scaleApplyType, scaleSchema } from "../strategy/apply-versions.ts";
import type { ScalePaths } from "../strategy/kind-rules.ts";
import { typedStrategy } from "../strategy/typed-strategy.ts";
import { ageColumn, ageOfObject, column, integerColumn, nameOfObject, type TablePrinter } from "../table/table.ts";
import { noReplicas, replicasOf, scaleVersion, toManagedScale, toScale, withScale } from "./scale-object.ts";

const scalePrinter: TablePrinter = {
  columns: [column("Name"), integerColumn("Desired"), integerColumn("Available"), ageColumn],
  cells: (scale, now) => [
    nameOfObject(scale),
    numberAt(scale, ["spec", "replicas"]),
    numberAt(scale, ["status", "replicas"]),
    ageOfObject(scale, now),
  ],
};

/** Scales of custom objects are shown as those of built-in ones, under columns that are described as those of custom kinds. */
const customScalePrinter: TablePrinter = {
  columns: [
    column("Name", { format: "name" }),
    column("Desired", { type: "integer", description: "Number of desired replicas" }),
    column("Available", { type: "integer", description: "Number of actual replicas" }),
    column("Age", { type: "date" }),
  ],
  cells: scalePrinter.cells,
};

/** The scale subresource of every type that has one. */
export function scaleResource(pathsOf: (type: ResourceType) => ScalePaths | undefined): SpecialResource {
  return (rest) => {
    const paths = rest.target.subresource === "scale" ? pathsOf(rest.type) : undefined;
    return paths && answer(rest, paths);
  };
}

async function answer(rest: RestRequest, paths: ScalePaths): Promise<CompleteResponse> {
  const form = negotiateForm(rest.request);
  switch (rest.target.verb) {
    case "get":
      return respond(rest, await currentObject(rest, paths), { paths, form });
    case "update":
      return update(rest, paths, form);
    default:
      return patch(rest, paths, form);
  }
}

async function currentObject({ store, strategy, target, type }: RestRequest, paths: ScalePaths): Promise<JsonObject> {
  const entry = store.get(objectKey(type, target.namespace, target.name));
  if (entry === undefined) throw notFound(type, target.name);
  const object = strategy.storage.toServed((await convertedEntry(strategy, entry)).value);
  if (paths.read(object).wanted === undefined) {
    throw internalError(`the spec replicas field ${shown(paths)} does not exist`);
  }
  return object;
}

function shown({ replicas }: ScalePaths): string {
  return JSON.stringify(`.${replicas.join(".")}`);
}

function respond(rest: RestRequest, object: JsonObject, { paths, form }: Shown): CompleteResponse {
  const scale = toScale(object, paths);
  const shown = asScaleRequest(rest);
  return objectResponse(rest.type.custom ? asCustomScale(shown) : shown, scale, form);
}

/** The Scale of a custom object has other columns, and is of the version's own type to the reference. */
function asCustomScale(shown: RestRequest): RestRequest {
  const view = { ...shown.strategy.view, printer: customScalePrinter };
  const strategy = { ...shown.strategy, view };
  return { ...shown, strategy, type: { ...shown.type, group: "v1" } };
}

interface Shown {
  readonly paths: ScalePaths;
  readonly form: ObjectForm;
}

async function update(rest: RestRequest, paths: ScalePaths, form: ObjectForm): Promise<CompleteResponse> {
  const scaleRest = asScaleRequest(rest);
  const { sent, options } = await readScale(rest, scaleRest);
  const scale = atTarget(scaleRest, sent);
  // biome-ignore lint/correctness/useYield: nothing is left to do in parts
  const edit = function* (): AwaitingWork<JsonObject> {
    return scale;
  };
  return write(rest, { paths, form, edit, options, comparesUid: true, tracked: false });
}

/** What was sent as a Scale. Of custom kinds the reference does not know how to say what is wrong with it. */
async function readScale(
  { type, request }: RestRequest,
  scaleRest: RestRequest,
): Promise<{ readonly sent: JsonObject; readonly options: UpdatePlan["options"] }> {
  try {
    const body = await readBody(scaleRest);
    const options = writeOptions(request, "UpdateOptions");
    return { sent: await inTurns(readObject(scaleRest, body, options.fieldValidation)), options };
  } catch (error) {
    if (type.custom && isBadRequest(error)) {
      throw badRequest('no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"', error);
    }
    throw error;
  }
}

async function patch(rest: RestRequest, paths: ScalePaths, form: ObjectForm): Promise<CompleteResponse> {
  const scaleRest = asScaleRequest(rest);
  const request = await readPatchRequest(rest.request, rest.type.custom ? undefined : scaleSchema, { byName: false });
  const { options } = request;
  const edit = function* (scale: JsonObject): AwaitingWork<JsonObject> {
    if (request.isApply) return yield* applyScale(rest, scale, request);
    return requireUid(rest, yield* patched(scaleRest, scale, request), scale);
  };
  return write(rest, { paths, form, edit, options, comparesUid: false, tracked: request.isApply });
}

interface ScaleWrite extends Pick<UpdatePlan, "options" | "comparesUid" | "tracked"> {
  readonly paths: ScalePaths;
  readonly form: ObjectForm;
  readonly edit: (scale: JsonObject) => AwaitingWork<JsonObject>;
}

/** Changes the Scale of an object, which is to change the object: its replicas, and who owns them. */
async function write(rest: RestRequest, { paths, form, edit, tracked, ...how }: ScaleWrite): Promise<CompleteResponse> {
  const admission = updateAdmission(rest, how.options);
  const plan: UpdatePlan = {
    ...how,
    endpoint: "scale",
    unconditional: true,
    tracked: true,
    admission: admission && scaleAdmission(admission, paths),
    *edit(object) {
      const scale = toManagedScale(object, paths);
      const next = yield* edit(scale);
      requireReplicas(rest, next, paths);
      yield;
      const owned = tracked ? next : (yield* scaleManager(rest).updating(scale, next, how.options.manager)).object;
      yield;
      const admitted = admission === undefined ? owned : yield* admission.mutating({ object: owned, old: scale });
      return withScale(object, admitted, paths);
    },
  };
  const plain = { ...form, shape: "whole" as const, mediaType: "application/json" as const, pretty: false };
  const response = await applyUpdate(rest, plan, plain);
  return respond(rest, response.payload?.value() as JsonObject, { paths, form });
}

/** Admission of an object whose Scale is written: it sees the Scale, and its mutating step has seen it already. */
function scaleAdmission(admission: UpdateAdmission, paths: ScalePaths): UpdateAdmission {
  type Change = Parameters<UpdateAdmission["mutating"]>[0];
  const scales = ({ object, old }: Change): Change => ({ object: toScale(object, paths), old: toScale(old, paths) });
  return {
    waits: admission.waits,
    // biome-ignore lint/correctness/useYield: there is nothing to do
    *mutating({ object }) {
      return object;
    },
    validating: (change) => admission.validating(scales(change)),
    commit: (change, transaction) => admission.commit(scales(change), transaction),
  };
}

/** Custom kinds have their count checked with the object. */
function requireReplicas({ type }: RestRequest, scale: JsonObject, paths: ScalePaths): void {
  const replicas = replicasOf(scale);
  if (type.custom && replicas === noReplicas) {
    throw badRequest(`the spec replicas field ${shown(paths)} cannot be empty`);
  }
  if (!type.custom && replicas < 0) {
    const error = invalidValue("spec.replicas", replicas, "must be greater than or equal to 0");
    throw invalid({ group: "autoscaling", kind: "Scale" }, metaOf(scale).name ?? "", [error]);
  }
}

/** Tracks the owners of the fields of Scales. */
function scaleManager({ now }: Pick<RestRequest, "now">): FieldManager {
  const type = scaleApplyType();
  return createFieldManager({
    apiVersion: scaleVersion,
    kind: "Scale",
    versions: { typeAt: (apiVersion) => (apiVersion === scaleVersion ? type : undefined) },
    subresource: "scale",
    now,
  });
}

/** The Scale after a configuration was applied to it. */
function* applyScale(rest: RestRequest, scale: JsonObject, { config, options }: ApplyPatch): AwaitingWork<JsonObject> {
  const { custom } = rest.type;
  if (custom && metaOf(scale).managedFields === undefined) {
    throw notConvertible("failed to create manager for existing fields: failed to convert live object", {});
  }
  const next = yield* scaleManager(rest).applying(scale, config, { manager: options.manager, force: options.force });
  if (
    custom &&
    !jsonEqual(withMeta(next, { managedFields: undefined }), withMeta(scale, { managedFields: undefined }))
  ) {
    throw notConvertible("failed to convert new object", config);
  }
  const scaleRest = asScaleRequest(rest);
  if (next === scale) return scale;
  yield;
  return atTarget(scaleRest, (yield* decodedObject(scaleRest.strategy, next)).object);
}

/** The reference tries to convert the Scale of a custom object as if it were the object: applying to it cannot change it. */
function notConvertible(what: string, config: JsonObject): Error {
  const { namespace = "", name = "" } = metaOf(config);
  const why = `request to convert CR to an invalid group/version: ${scaleVersion}`;
  return unclassifiedError(`${what} (${namespace}/${name}; ${scaleVersion}, Kind=Scale) to proper version: ${why}`);
}

/** A request for the Scale of an object, seen as a request for a Scale: a built-in kind, whatever it is the Scale of. */
function asScaleRequest(rest: RestRequest): RestRequest {
  const type: ResourceType = { ...rest.type, group: "autoscaling", version: "v1", kind: "Scale", custom: false };
  return { ...rest, type, strategy: typedStrategy(type, { printer: scalePrinter }, rest.now) };
}

/** A patched Scale with the uid it has. Of built-in kinds another one is a conflict, of custom ones it is nothing. */
function requireUid({ type, target }: RestRequest, next: JsonObject, scale: JsonObject): JsonObject {
  const [sent = "", stored = ""] = [metaOf(next).uid, metaOf(scale).uid];
  if (!type.custom && sent !== "" && sent !== stored) {
    const resource = { group: type.group, resource: `${type.resource}/scale` };
    const why = `Precondition failed: UID in precondition: ${sent}, UID in object meta: ${stored}`;
    throw conflict(resource, target.name, why);
  }
  return withMeta(next, { uid: stored });
}
