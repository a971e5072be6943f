// SPDX-License-Identifier: Apache-2.0
// Reading the body of a patch request, with the reference's responses to malformed bodies.
// The query parameters that create, update, patch and delete have in common.
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "../errors/field-error.ts";
import type { StatusError } from "../errors/status-error.ts";
import { badRequest, invalid, requestEntityTooLarge } from "../errors/status-error-constructors.ts";
import { goQuote } from "../json/go-text.ts";
import type { Fractions, JsonReading } from "../json/json-reader.ts";
import { parseJsonStrict } from "../json/json-text.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, jsonKind } from "../json/json-value.ts";
import { validateFieldManager } from "../metadata/validate-metadata.ts";
import type { JsonPatchOperation } from "./json-patch.ts";
import { markNumbers } from "./patch-document.ts";

/** What to do about unknown and duplicate fields. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** A patch as it was read, and what is odd about its fields; nothing is when fields are not validated. */
interface DecodedPatch<T> {
  readonly patch: T;
  /** `unknown field "…"`, `duplicate field "…"`: warnings, or errors when validation is strict. */
  readonly findings: readonly string[];
  /** Its numbers that are not written as integers, where the caller needs them. */
  readonly fractions?: Fractions | undefined;
}

/** Reads JSON text as {@link parseJsonStrict} does; one that was read before need not be read again. */
type ReadJson = (text: string) => JsonReading;

const maxOperations = 10_000;
const operationFields: ReadonlySet<string> = new Set(["op", "path", "from", "value"]);

/**
 * Reads a JSON patch body for {@link applyWrittenPatch}: its numbers are as they were written. Throws BadRequest when it is malformed,
 * RequestEntityTooLarge when it has too many operations.
 */
export function decodeJsonPatch(
  text: string,
  validation: FieldValidation,
  read: ReadJson = parseJsonStrict,
): DecodedPatch<readonly JsonPatchOperation[]> {
  const checked = validation !== "Ignore";
  const prefix = checked ? "error decoding patch: " : "";
  const { value, duplicates, fractions } = parse(text, prefix, read);
  const listType = checked ? "[]handlers.jsonPatchOp" : "jsonpatch.Patch";
  const list = value === null ? [] : value;
  if (!isJsonArray(list)) throw badRequest(`${prefix}${mismatch(list, listType)}`);
  const operations = list.map((item) => operationOf(item, checked, prefix));
  if (operations.length > maxOperations) {
    const why = `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${operations.length}`;
    throw requestEntityTooLarge(why);
  }
  const findings = checked ? [...unknownFields(operations), ...duplicates.map(duplicateText)] : [];
  const patch = operations.map((operation, index) => withWrittenValue(operation, fractions?.get(index)));
  return { patch, findings: findings.map((finding) => `json patch ${finding}`) };
}

function operationOf(item: JsonValue, checked: boolean, prefix: string): JsonPatchOperation {
  if (item === null) return {};
  if (!isJsonObject(item)) {
    throw badRequest(`${prefix}${mismatch(item, checked ? "handlers.jsonPatchOp" : "jsonpatch.Operation")}`);
  }
  for (const field of checked ? ["op", "path", "from"] : []) {
    const value = Object.hasOwn(item, field) ? (item[field] ?? null) : null;
    if (value === null || typeof value === "string") continue;
    const kind = jsonKind(value);
    throw badRequest(
      `${prefix}json: cannot unmarshal ${kind} into Go struct field jsonPatchOp.${field} of type string`,
    );
  }
  return item;
}

function withWrittenValue(operation: JsonPatchOperation, written: Fractions | string | undefined): JsonPatchOperation {
  const below = typeof written === "object" ? written.get("value") : undefined;
  return below === undefined ? operation : { ...operation, value: markNumbers(operation["value"] ?? null, below) };
}

function unknownFields(operations: readonly JsonPatchOperation[]): string[] {
  return operations.flatMap((operation, index) =>
    Object.keys(operation)
      .filter((key) => !operationFields.has(key))
      .map((key) => `unknown field ${goQuote(`[${index}].${key}`)}`),
  );
}

const duplicateText = (path: string): string => `duplicate field ${goQuote(path)}`;

/** Reads a JSON merge patch body. Throws BadRequest when it is malformed. */
export function decodeMergePatch(
  text: string,
  validation: FieldValidation,
  read: ReadJson = parseJsonStrict,
): DecodedPatch<JsonObject> {
  const checked = validation !== "Ignore";
  if (!checked) return uncheckedObject(text, read);
  const prefix = "error decoding patch: ";
  const { value, duplicates, fractions } = parse(text, prefix, read);
  if (value === null) throw badRequest("Invalid JSON Patch");
  if (!isJsonObject(value)) throw badRequest(`${prefix}${mismatch(value, "map[string]interface {}")}`);
  return { patch: value, findings: duplicates.map(duplicateText), fractions };
}

function uncheckedObject(text: string, read: ReadJson): DecodedPatch<JsonObject> {
  const { value, fractions } = tryParse(text, read) ?? {};
  if (!isJsonObject(value)) throw badRequest("Invalid JSON Patch");
  return { patch: value, findings: [], fractions };
}

function tryParse(text: string, read: ReadJson): JsonReading | undefined {
  try {
    return read(text);
  } catch {
    return undefined;
  }
}

/** Reads a strategic merge patch body. Throws BadRequest when it is malformed. */
export function decodeStrategicMergePatch(
  text: string,
  validation: FieldValidation,
  read: ReadJson = parseJsonStrict,
): DecodedPatch<JsonObject> {
  const { value, duplicates } = parse(text, "", read);
  const patch = value ?? {};
  if (!isJsonObject(patch)) throw badRequest(mismatch(patch, "map[string]interface {}"));
  return { patch, findings: validation === "Ignore" ? [] : duplicates.map(duplicateText) };
}

function parse(text: string, prefix: string, read: ReadJson): JsonReading {
  try {
    return read(text);
  } catch (error) {
    throw badRequest(`${prefix}${error instanceof Error ? error.message : String(error)}`, error);
  }
}

const mismatch = (value: JsonValue, type: string): string =>
  `json: cannot unmarshal ${jsonKind(value)} into Go value of type ${type}`;

/** The text of unknown and duplicate fields together. */
export function strictDecodingText(findings: readonly string[]): string {
  return `strict decoding error: ${findings.join(", ")}`;
}

/**
 * 422 for a patch whose result cannot be decoded, or has fields that strict validation refuses. `printed` is the patched
 * object as JSON text, or the patch itself for a strategic merge patch.
 */
export function patchResultInvalid(printed: string, why: string): StatusError {
  return invalid({ group: "", kind: "" }, "", [invalidValue("patch", printed, why)]);
}

/** The options of a create, update or patch as they came. */
interface WriteOptions {
  readonly fieldManager?: string;
  readonly dryRun?: readonly string[];
  readonly fieldValidation?: string;
}

/** The options of a patch as they came. */
export interface PatchOptions extends WriteOptions {
  readonly force?: boolean;
}

/** What is wrong with the options of a create or update. */
export function validateWriteOptions({
  fieldManager = "",
  dryRun = [],
  fieldValidation = "",
}: WriteOptions): FieldError[] {
  return [
    ...validateFieldManager(fieldManager, "fieldManager"),
    ...validateDryRun(dryRun),
    ...validateFieldValidation(fieldValidation),
  ];
}

/** What is wrong with the options of a patch. An apply has to name its manager; nothing else can be forced. */
export function validatePatchOptions(options: PatchOptions, isApply: boolean): FieldError[] {
  const errors: FieldError[] = [];
  if (isApply && !options.fieldManager) errors.push(requiredValue("fieldManager", "is required for apply patch"));
  if (!isApply && options.force !== undefined) {
    errors.push(forbiddenValue("force", "may not be specified for non-apply patch"));
  }
  return [...errors, ...validateWriteOptions(options)];
}

/** What is wrong with the values of dryRun. */
export function validateDryRun(dryRun: readonly string[]): FieldError[] {
  return dryRun.every((value) => value === "All") ? [] : [unsupportedValue("dryRun", dryRun, ["All"])];
}

const fieldValidations = ["", "Ignore", "Strict", "Warn"];

function validateFieldValidation(value: string): FieldError[] {
  return fieldValidations.includes(value) ? [] : [unsupportedValue("fieldValidation", value, fieldValidations)];
}
