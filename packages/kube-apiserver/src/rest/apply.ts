// SPDX-License-Identifier: Apache-2.0
import { badRequest, conflict, goQuote, isJsonObject, type JsonObject, notFound } from "@purlin/kube-objects";
import { apiVersionOf } from "../registry/resource-type.ts";
import type { CompleteResponse } from "../request/api-response.ts";
import { applyUpdate } from "./apply-update.ts";
import { createApplied } from "./create.ts";
import { metaOf, withMeta } from "./object-meta.ts";
import { entryResponse, type ObjectForm, objectResponse } from "./object-response.ts";
import type { Endpoint } from "./object-strategy.ts";
import type { PatchBody } from "./patch.ts";
import type { RestRequest } from "./rest-context.ts";
import { objectKey } from "./storage-key.ts";
import type { PatchOptions } from "./write-options.ts";
import { readYaml } from "./yaml-body.ts";

export interface ApplyRequest {
  readonly endpoint: Endpoint;
  readonly body: PatchBody;
  readonly options: PatchOptions;
  readonly form: ObjectForm;
}

/** Applies a configuration: what it says becomes so, what its manager said before and no longer says goes. */
export async function applyObject(
  rest: RestRequest,
  { endpoint, body, options, form }: ApplyRequest,
): Promise<CompleteResponse> {
  const { store, strategy, target, type } = rest;
  const config = readConfig(rest, body, options);
  const manager = strategy.fieldManager(endpoint);
  const request = { manager: options.manager, force: options.force };
  const edit = (current: JsonObject): JsonObject => {
    const applied = manager.apply(current, config, request);
    return applied === current ? current : decoded(rest, applied);
  };
  if (store.get(objectKey(type, target.namespace, target.name)) !== undefined) {
    return applyUpdate(rest, { endpoint, edit, options, unconditional: true, comparesUid: true, tracked: true }, form);
  }
  if (endpoint !== "") {
    throw notFound(type, target.name);
  }
  return create(rest, decoded(rest, manager.apply(undefined, config, request)), options, form);
}

async function create(
  rest: RestRequest,
  applied: JsonObject,
  options: PatchOptions,
  form: ObjectForm,
): Promise<CompleteResponse> {
  const { type, target } = rest;
  if (metaOf(applied).uid) {
    const why = `Precondition failed: UID in precondition: ${metaOf(applied).uid}, UID in object meta: `;
    throw conflict(type, target.name, why);
  }
  const created = await createApplied(rest, applied, options);
  const response =
    "entry" in created
      ? entryResponse(rest, created.entry, form, 201)
      : objectResponse(rest, created.object, form, 201);
  return { ...response, warnings: created.warnings };
}

/** Fields the merged object must not have would have been refused before; here only defaults are missing. */
function decoded({ strategy }: RestRequest, object: JsonObject): JsonObject {
  return strategy.decode(object).object;
}

function readConfig(rest: RestRequest, body: PatchBody, { fieldValidation }: PatchOptions): JsonObject {
  const { value, duplicates } = "text" in body ? readYaml(body.text) : { value: body.value, duplicates: [] };
  if (duplicates.length > 0 && fieldValidation === "Strict") {
    throw badRequest(
      `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${duplicates.join("\n  ")}`,
    );
  }
  if (!isJsonObject(value)) {
    throw badRequest("error decoding YAML: the applied configuration must be an object");
  }
  return requireTarget(rest, value);
}

/** The configuration must be of the object of the URL. */
function requireTarget({ target, type }: RestRequest, config: JsonObject): JsonObject {
  const { apiVersion = "", kind = "" } = config;
  const expected = apiVersionOf(type);
  if (apiVersion !== expected || kind !== type.kind) {
    throw badRequest(`invalid object type: ${String(apiVersion)}, Kind=${String(kind)}`);
  }
  const { name = "", namespace = "" } = metaOf(config);
  if (name !== "" && name !== target.name) {
    throw badRequest(
      `metadata.name does not match the name on the URL: ${goQuote(name)} is not ${goQuote(target.name)}`,
    );
  }
  if (type.namespaced && namespace !== "" && namespace !== target.namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  return name === "" ? withMeta(config, { name: target.name }) : config;
}
