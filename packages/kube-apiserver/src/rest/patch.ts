// SPDX-License-Identifier: Apache-2.0
import {
  applyJsonPatch,
  applyMergePatch,
  applyStrategicMergePatch,
  badRequest,
  decodeJsonPatch,
  decodeMergePatch,
  decodeStrategicMergePatch,
  goQuote,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  patchNotApplicable,
  patchResultInvalid,
  printJson,
  strictDecodingText,
  unsupportedMediaType,
} from "@purlin/kube-objects";
import type { CompleteResponse } from "../request/api-response.ts";
import { unsupportedPatchType } from "../request/plain-refusals.ts";
import { applyObject } from "./apply.ts";
import { applyUpdate } from "./apply-update.ts";
import { negotiateForm } from "./object-response.ts";
import type { Endpoint } from "./object-strategy.ts";
import { dedupedOwners } from "./owner-references.ts";
import { contentTypeOf } from "./request-body.ts";
import type { RestRequest } from "./rest-context.ts";
import { atTarget } from "./update.ts";
import { type PatchOptions, patchOptions } from "./write-options.ts";

const JSON_PATCH = "application/json-patch+json";
const MERGE_PATCH = "application/merge-patch+json";
const STRATEGIC_PATCH = "application/strategic-merge-patch+json";
const APPLY_PATCH = "application/apply-patch+yaml";

const BUILTIN_PATCHES = [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH];
const CUSTOM_PATCHES = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH];

/** Changes an object, or a part of it, by a patch. */
export async function patchObject(rest: RestRequest, endpoint: Endpoint): Promise<CompleteResponse> {
  const { request, strategy } = rest;
  const form = negotiateForm(request);
  const type = contentTypeOf(request);
  const accepted = strategy.strategicMerge === undefined ? CUSTOM_PATCHES : BUILTIN_PATCHES;
  if (!accepted.includes(type)) {
    throw strategy.strategicMerge === undefined ? unsupportedMediaType(accepted) : unsupportedPatchType();
  }
  const body = await patchBody(rest);
  const options = patchOptions(request, type === APPLY_PATCH);
  if (type === APPLY_PATCH) {
    return applyObject(rest, { endpoint, body, options, form });
  }
  const patch = readPatch(rest, type, body, options);
  const notes: string[] = [...patch.warnings];
  const run: PatchRun = { patch, options, notes };
  const edit = (current: JsonObject): JsonObject => edited(rest, current, run);
  const response = await applyUpdate(
    rest,
    { endpoint, edit, options, unconditional: rest.type.rules.unconditionalUpdate, comparesUid: false, tracked: false },
    form,
  );
  return { ...response, warnings: [...notes, ...(response.warnings ?? [])] };
}

/** What a patch request carries: text from a wire, or a value inside the process. */
export type PatchBody = { readonly text: string } | { readonly value: JsonValue };

async function patchBody({ request }: RestRequest): Promise<PatchBody> {
  switch (request.body.kind) {
    case "none":
      return { text: "" };
    case "value":
      return { value: request.body.value };
    case "bytes":
      return { text: new TextDecoder().decode(await request.body.read()) };
  }
}

interface ReadPatch {
  readonly apply: (current: JsonObject) => JsonValue;
  /** What the result is judged by when it is not valid: itself, or the patch. */
  readonly shown: (result: JsonValue) => string;
  /** Strictly speaking wrong with the patch itself. */
  readonly findings: readonly string[];
  readonly warnings: readonly string[];
}

function readPatch(rest: RestRequest, type: string, body: PatchBody, options: PatchOptions): ReadPatch {
  const text = "text" in body ? body.text : printJson(body.value);
  const { fieldValidation } = options;
  const warningsOf = (findings: readonly string[]): readonly string[] => (fieldValidation === "Warn" ? findings : []);
  if (type === JSON_PATCH) {
    const { patch, findings } = decodeJsonPatch(text, fieldValidation);
    return {
      apply: (current) => applyJsonPatch(current, patch),
      shown: printJson,
      findings,
      warnings: warningsOf(findings),
    };
  }
  if (type === MERGE_PATCH) {
    const { patch, findings } = decodeMergePatch(text, fieldValidation);
    return {
      apply: (current) => applyMergePatch(current, patch),
      shown: printJson,
      findings,
      warnings: warningsOf(findings),
    };
  }
  const { patch, findings } = decodeStrategicMergePatch(text, fieldValidation);
  const schema = rest.strategy.strategicMerge?.();
  return {
    apply: (current) => (schema === undefined ? current : applyStrategicMergePatch(current, patch, schema)),
    shown: () => printJson(patch),
    findings,
    warnings: warningsOf(findings),
  };
}

interface PatchRun {
  readonly patch: ReadPatch;
  readonly options: PatchOptions;
  /** What the client is to be told. */
  readonly notes: string[];
}

/** The object after the patch, read as anew. What there is to say about it goes into the notes. */
function edited(rest: RestRequest, current: JsonObject, { patch, options, notes }: PatchRun): JsonObject {
  const result = patch.apply(current);
  if (!isJsonObject(result)) {
    throw patchNotApplicable();
  }
  requireSameType(current, result);
  const { object, unknownFields } = decodeResult(rest, result, patch);
  const findings = [...patch.findings, ...unknownFields.map((path) => `unknown field ${goQuote(path)}`)];
  if (findings.length > 0 && options.fieldValidation === "Strict") {
    throw patchResultInvalid(patch.shown(result), strictDecodingText(findings));
  }
  const owned = dedupedOwners(atTarget(rest, object));
  const unknown =
    options.fieldValidation === "Warn" ? unknownFields.map((path) => `unknown field ${goQuote(path)}`) : [];
  // The edit may run again; what it had to say before is said again.
  notes.splice(patch.warnings.length, notes.length, ...unknown, ...owned.warnings);
  return owned.object;
}

function decodeResult(
  { strategy }: RestRequest,
  result: JsonObject,
  patch: ReadPatch,
): ReturnType<typeof strategy.decode> {
  try {
    return strategy.decode(result);
  } catch (error) {
    throw patchResultInvalid(patch.shown(result), error instanceof Error ? error.message : String(error));
  }
}

function requireSameType(current: JsonObject, result: JsonObject): void {
  for (const member of ["apiVersion", "kind"]) {
    if (result[member] !== current[member]) {
      throw badRequest(`${member} must not be changed by a patch`);
    }
  }
}
