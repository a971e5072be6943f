// SPDX-License-Identifier: Apache-2.0
import {
  badRequest,
  createFieldManager,
  type FieldManager,
  invalid,
  invalidValue,
  type JsonObject,
  notFound,
  TypedFormError,
  toTypedForm,
} from "@purlin/kube-objects";
import { scaleApplyType, scaleSchema } from "../builtin/apply-versions.ts";
import type { ResourceType } from "../registry/resource-type.ts";
import type { CompleteResponse } from "../request/api-response.ts";
import { documentPayload } from "../request/payload.ts";
import { applyUpdate, type UpdatePlan } from "../rest/apply-update.ts";
import { metaOf } from "../rest/object-meta.ts";
import { negotiateForm, type ObjectForm } from "../rest/object-response.ts";
import { type PatchRequest, readPatchRequest } from "../rest/patch-request.ts";
import { readRequestBody } from "../rest/request-body.ts";
import type { SpecialResource } from "../rest/resources.ts";
import type { RestRequest } from "../rest/rest-context.ts";
import { objectKey } from "../rest/storage-key.ts";
import { writeOptions } from "../rest/write-options.ts";
import { SCALE_VERSION, toManagedScale, toScale, withScale } from "./scale-object.ts";
import type { ScalePaths } from "./scale-paths.ts";

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
      return respond(currentObject(rest), paths, form);
    case "update":
      return update(rest, paths, form);
    default:
      return patch(rest, paths, form);
  }
}

function currentObject({ store, strategy, target, type }: RestRequest): JsonObject {
  const entry = store.get(objectKey(type, target.namespace, target.name));
  if (entry === undefined) {
    throw notFound(type, target.name);
  }
  return strategy.toServed(entry.value);
}

function respond(object: JsonObject, paths: ScalePaths, { mediaType, pretty }: ObjectForm): CompleteResponse {
  return { kind: "complete", code: 200, payload: documentPayload(toScale(object, paths), { mediaType, pretty }) };
}

async function update(rest: RestRequest, paths: ScalePaths, form: ObjectForm): Promise<CompleteResponse> {
  const body = await readRequestBody(rest.request, { takesProtobuf: true });
  const options = writeOptions(rest.request, "UpdateOptions");
  const sent = typedScale((body?.value ?? {}) as JsonObject);
  const edit = (): JsonObject => sent;
  return write(rest, { paths, form, edit, options, tracked: false });
}

async function patch(rest: RestRequest, paths: ScalePaths, form: ObjectForm): Promise<CompleteResponse> {
  const request = await readPatchRequest(rest.request, rest.strategy.strategicMerge && scaleSchema);
  const edit = (scale: JsonObject): JsonObject => patched(request, scale, manager(rest));
  return write(rest, { paths, form, edit, options: request.options, tracked: request.isApply });
}

function patched(request: PatchRequest, scale: JsonObject, fields: FieldManager): JsonObject {
  const { options } = request;
  const next = request.isApply
    ? fields.apply(scale, request.config, { manager: options.manager, force: options.force })
    : request.apply(scale);
  return typedScale(next as JsonObject);
}

interface ScaleWrite {
  readonly paths: ScalePaths;
  readonly form: ObjectForm;
  readonly edit: (scale: JsonObject) => JsonObject;
  readonly options: UpdatePlan["options"];
  readonly tracked: boolean;
}

/** Changes the Scale of an object, which is to change the object: its replicas, and who owns them. */
async function write(
  rest: RestRequest,
  { paths, form, edit, options, tracked }: ScaleWrite,
): Promise<CompleteResponse> {
  const plan: UpdatePlan = {
    endpoint: "scale",
    options,
    unconditional: true,
    comparesUid: true,
    tracked: true,
    edit: (object) => {
      const scale = toManagedScale(object, paths);
      const next = edit(scale);
      requireReplicas(next);
      const owned = tracked ? next : manager(rest).update(scale, next, options.manager).object;
      return withScale(object, owned, paths);
    },
  };
  const plain = { ...form, shape: "whole" as const, mediaType: "application/json" as const, pretty: false };
  const response = await applyUpdate(rest, plan, plain);
  return respond(response.payload?.value() as JsonObject, paths, form);
}

function manager({ now }: RestRequest): FieldManager {
  const type = scaleApplyType();
  return createFieldManager({
    apiVersion: SCALE_VERSION,
    kind: "Scale",
    versions: { typeAt: (apiVersion) => (apiVersion === SCALE_VERSION ? type : undefined) },
    subresource: "scale",
    now,
  });
}

function requireReplicas(scale: JsonObject): void {
  const replicas = (scale["spec"] as JsonObject | undefined)?.["replicas"] ?? 0;
  if (typeof replicas === "number" && replicas < 0) {
    const error = invalidValue("spec.replicas", replicas, "must be greater than or equal to 0");
    throw invalid({ group: "autoscaling", kind: "Scale" }, metaOf(scale).name ?? "", [error]);
  }
}

function typedScale(value: JsonObject): JsonObject {
  const { apiVersion = SCALE_VERSION, kind = "Scale" } = value;
  if (apiVersion !== SCALE_VERSION || kind !== "Scale") {
    throw badRequest(`${String(kind)} in version ${JSON.stringify(apiVersion)} cannot be handled as a Scale`);
  }
  try {
    return toTypedForm({ ...value, apiVersion: SCALE_VERSION, kind: "Scale" }).object;
  } catch (error) {
    throw error instanceof TypedFormError
      ? badRequest(`Scale in version "v1" cannot be handled as a Scale: ${error.message}`)
      : error;
  }
}
