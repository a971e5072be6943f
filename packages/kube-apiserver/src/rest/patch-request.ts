// SPDX-License-Identifier: Apache-2.0
import {
  applyJsonPatch,
  applyMergePatch,
  applyStrategicMergePatch,
  badRequest,
  decodeJsonPatch,
  decodeMergePatch,
  decodeStrategicMergePatch,
  goJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  printJson,
  type StrategicMergeSchema,
  unsupportedMediaType,
} from "@purlin/kube-objects";
import type { ApiRequest } from "../request/api-request.ts";
import { unsupportedPatchType } from "../request/plain-refusals.ts";
import { contentTypeOf } from "./request-body.ts";
import { type PatchOptions, patchOptions } from "./write-options.ts";
import { readYaml } from "./yaml-body.ts";

const JSON_PATCH = "application/json-patch+json";
const MERGE_PATCH = "application/merge-patch+json";
const STRATEGIC_PATCH = "application/strategic-merge-patch+json";
const APPLY_PATCH = "application/apply-patch+yaml";
const CUSTOM_PATCHES = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH];

/** A patch as it was asked for: a configuration to apply, or a change to make. */
export type PatchRequest = ApplyPatch | ChangePatch;

export interface ApplyPatch {
  readonly isApply: true;
  readonly options: PatchOptions;
  readonly config: JsonObject;
}

export interface ChangePatch {
  readonly isApply: false;
  readonly options: PatchOptions;
  readonly apply: (current: JsonObject) => JsonValue;
  /** What a result that is not valid is shown by: itself, or the patch. */
  readonly shown: (result: JsonValue) => string;
  /** Strictly speaking wrong with the patch itself. */
  readonly findings: readonly string[];
}

/** Reads a patch. Types without a schema for strategic merging take none of those. */
export async function readPatchRequest(
  request: ApiRequest,
  strategic: (() => StrategicMergeSchema) | undefined,
): Promise<PatchRequest> {
  const type = contentTypeOf(request);
  const accepted = strategic === undefined ? CUSTOM_PATCHES : [...CUSTOM_PATCHES, STRATEGIC_PATCH];
  if (!accepted.includes(type)) {
    throw strategic === undefined ? unsupportedMediaType(accepted) : unsupportedPatchType();
  }
  const body = await patchBody(request);
  const options = patchOptions(request, type === APPLY_PATCH);
  if (type === APPLY_PATCH) {
    return { isApply: true, options, config: readConfiguration(body, options) };
  }
  return { isApply: false, options, ...readChange(type, body, options, strategic) };
}

type PatchBody = { readonly text: string } | { readonly value: JsonValue };

async function patchBody({ body }: ApiRequest): Promise<PatchBody> {
  switch (body.kind) {
    case "none":
      return { text: "" };
    case "value":
      return { value: body.value };
    case "bytes":
      return { text: new TextDecoder().decode(await body.read()) };
  }
}

type Change = Pick<ChangePatch, "apply" | "shown" | "findings">;

function readChange(
  type: string,
  body: PatchBody,
  options: PatchOptions,
  strategic: (() => StrategicMergeSchema) | undefined,
): Change {
  const text = "text" in body ? body.text : printJson(body.value);
  if (type === JSON_PATCH) {
    const { patch, findings } = decodeJsonPatch(text, options.fieldValidation);
    return { apply: (current) => applyJsonPatch(current, patch), shown: goJson, findings };
  }
  if (type === MERGE_PATCH) {
    const { patch, findings } = decodeMergePatch(text, options.fieldValidation);
    return { apply: (current) => applyMergePatch(current, patch), shown: goJson, findings };
  }
  const { patch, findings } = decodeStrategicMergePatch(text, options.fieldValidation);
  const schema = strategic?.();
  const apply = (current: JsonObject): JsonObject =>
    schema === undefined ? current : applyStrategicMergePatch(current, patch, schema);
  return { apply, shown: () => goJson(patch), findings };
}

function readConfiguration(body: PatchBody, { fieldValidation }: PatchOptions): JsonObject {
  const { value, duplicates } = "text" in body ? readYaml(body.text) : { value: body.value, duplicates: [] };
  if (duplicates.length > 0 && fieldValidation === "Strict") {
    const text = `yaml: unmarshal errors:\n  ${duplicates.join("\n  ")}`;
    throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${text}`);
  }
  if (!isJsonObject(value)) {
    throw badRequest("error decoding YAML: the applied configuration must be an object");
  }
  return value;
}
