// SPDX-License-Identifier: Apache-2.0

import { finish, inTurns, type Work } from "@purlin/base";
import { badRequest, beginningOf, isStatusError, unsupportedMediaType } from "@purlin/kube-objects/errors";
import {
  countJsonValues,
  goJson,
  goPlain,
  isJsonObject,
  type JsonObject,
  type JsonReading,
  type JsonValue,
  jsonKind,
  parsingJsonStrict,
  printJson,
} from "@purlin/kube-objects/json";
import {
  applyingMergePatch,
  applyingStrategicMergePatch,
  applyingWrittenPatch,
  consumedPatch,
  decodeJsonPatch,
  decodeMergePatch,
  decodeStrategicMergePatch,
  jsonPatchedText,
  mergePatchedText,
  type StrategicMergeSchema,
  type WrittenValue,
} from "@purlin/kube-objects/patch";
import type { ApiRequest } from "../request/api-request.ts";
import { requireFewValues, unsupportedPatchType } from "../request/negotiate.ts";
import { readingYaml, type YamlReading } from "../request/yaml-body.ts";
import { countParts } from "./object-codec.ts";
import { contentTypeOf } from "./request-body.ts";
import { type PatchOptions, patchOptions } from "./write-options.ts";

const jsonPatch = "application/json-patch+json";
const mergePatch = "application/merge-patch+json";
const strategicPatch = "application/strategic-merge-patch+json";
const applyPatch = "application/apply-patch+yaml";
const customPatches = [jsonPatch, mergePatch, applyPatch];

/** A patch as it was asked for: a configuration to apply, or a change to make. */
type PatchRequest = ApplyPatch | ChangePatch;

export interface ApplyPatch {
  readonly isApply: true;
  readonly options: PatchOptions;
  readonly config: JsonObject;
  /** What is wrong with its text strictly speaking: keys that come twice. */
  readonly duplicates: string | undefined;
}

export interface ChangePatch {
  readonly isApply: false;
  readonly options: PatchOptions;
  /** The result, and where it has numbers that are not written as integers. */
  readonly apply: (current: JsonObject) => Work<WrittenValue>;
  /** What a result that is not valid is shown by: its text, or the patch. */
  readonly shown: (current: JsonObject) => string;
  /** The result is not read as a text: it is converted from the map that the patch has changed. */
  readonly isConverted: boolean;
  /** Strictly speaking wrong with the patch itself. */
  readonly findings: readonly string[];
}

/**
 * Reads a patch. Types without a schema for strategic merging take none of those, and print their objects by name throughout, unless
 * said otherwise; others as their types have their fields.
 */
export async function readPatchRequest(
  request: ApiRequest,
  strategic: (() => StrategicMergeSchema) | undefined,
  { byName = strategic === undefined }: { readonly byName?: boolean } = {},
): Promise<PatchRequest> {
  const type = contentTypeOf(request);
  const accepted = strategic === undefined ? customPatches : [...customPatches, strategicPatch];
  if (!accepted.includes(type)) throw strategic === undefined ? unsupportedMediaType(accepted) : unsupportedPatchType();
  const body = await patchBody(request, type === applyPatch);
  const options = patchOptions(request, type === applyPatch);
  if (type === applyPatch) {
    const configuration = await inTurns(readConfiguration(body));
    request.audit?.requestedWith(configuration.config);
    return { isApply: true, options, ...configuration };
  }
  const onRead = (patch: JsonValue): void => request.audit?.requestedWith(patch);
  return { isApply: false, options, ...(await readChange(type, body, { options, strategic, byName, onRead })) };
}

type PatchBody = { readonly text: string } | { readonly value: JsonValue };

async function patchBody({ body }: ApiRequest, isYaml: boolean): Promise<PatchBody> {
  switch (body.kind) {
    case "none":
      return { text: "" };
    case "value":
      return { value: body.value };
    case "bytes":
      // JSON may not begin with a byte order mark, YAML may.
      return { text: new TextDecoder("utf-8", { ignoreBOM: !isYaml }).decode(await body.read()) };
  }
}

type Change = Omit<ChangePatch, "isApply" | "options">;

interface Reading {
  readonly options: PatchOptions;
  readonly strategic: (() => StrategicMergeSchema) | undefined;
  readonly byName: boolean;
  readonly onRead: (patch: JsonValue) => void;
}

async function readChange(
  type: string,
  body: PatchBody,
  { options, strategic, byName, onRead }: Reading,
): Promise<Change> {
  const text = "text" in body ? body.text : printJson(body.value);
  const read = await readInTurns(text, onRead);
  if (type === jsonPatch) {
    const { patch, findings } = decodeJsonPatch(text, options.fieldValidation, read);
    const apply = (current: JsonObject): Work<WrittenValue> => applyingWrittenPatch(current, patch);
    const shown = (current: JsonObject): string =>
      byName ? goJson(finish(apply(current)).value) : jsonPatchedText(current, patch);
    return { apply, shown: bounded(text, shown), findings, isConverted: false };
  }
  if (type === mergePatch) {
    const { patch, findings, fractions } = decodeMergePatch(text, options.fieldValidation, read);
    const apply = function* (current: JsonObject): Work<WrittenValue> {
      return { value: yield* applyingMergePatch(current, patch), fractions };
    };
    const shown = (current: JsonObject): string =>
      byName ? goJson(finish(apply(current)).value) : mergePatchedText(current, patch);
    return { apply, shown: bounded(text, shown), findings, isConverted: false };
  }
  const { patch, findings } = decodeStrategicMergePatch(text, options.fieldValidation, read);
  const schema = strategic?.();
  const apply = function* (current: JsonObject): Work<WrittenValue> {
    return { value: schema === undefined ? current : yield* applyingStrategicMergePatch(current, patch, schema) };
  };
  const shown = (current: JsonObject): string => goPlain(consumedPatch(current, patch));
  return { apply, shown: bounded(text, shown), findings, isConverted: true };
}

/** Most values of an object or a patch that an error shows in the form that the reference shows. */
const mostShownValues = 20_000;

/** What an error shows; the beginning of the patch when what it should show is very large. */
function bounded(text: string, shown: ChangePatch["shown"]): ChangePatch["shown"] {
  const isLarge = (current: JsonObject): boolean =>
    countParts(current, mostShownValues) > mostShownValues || countJsonValues(text) > mostShownValues;
  return (current) => (isLarge(current) ? beginningOf(text) : shown(current));
}

/** Reads a text once, in turns. What is wrong with it is thrown where it is used, in the words of its type; too many values at once. */
async function readInTurns(text: string, onRead: (value: JsonValue) => void): Promise<() => JsonReading> {
  try {
    const reading = await inTurns(parsingJsonStrict(text, requireFewValues));
    onRead(reading.value);
    return () => reading;
  } catch (error) {
    if (isStatusError(error)) throw error;
    return () => {
      throw error;
    };
  }
}

function* readConfiguration(body: PatchBody): Work<Pick<ApplyPatch, "config" | "duplicates">> {
  const { value, duplicates } = "text" in body ? yield* readYamlText(body.text) : { value: body.value, duplicates: [] };
  const config = value ?? {};
  if (!isJsonObject(config)) {
    const why = `json: cannot unmarshal ${jsonKind(config)} into Go value of type map[string]interface {}`;
    throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`);
  }
  const text = `error converting YAML to JSON: yaml: unmarshal errors:\n  ${duplicates.join("\n  ")}`;
  return { config, duplicates: duplicates.length === 0 ? undefined : text };
}

function* readYamlText(text: string): Work<YamlReading> {
  try {
    return yield* readingYaml(text);
  } catch (error) {
    if (isStatusError(error) && error.status.code === 413) throw error;
    throw badRequest(`error decoding YAML: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}
