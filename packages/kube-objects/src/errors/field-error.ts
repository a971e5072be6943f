// SPDX-License-Identifier: Apache-2.0
// Validation findings about single fields, worded as the reference server words them.
import type { Work } from "@purlin/base";
import { goJson, goNumber, goQuote } from "../json/go-text.ts";
import { compareUtf8, type JsonValue } from "../json/json-value.ts";

/** A path to a field in an object, as validation messages print it: `spec.ports[0].name`, `metadata.labels[app]`. */
export type FieldPath = string;

/** The path of the object itself. */
export const rootPath = "<nil>";

/** The path of a named child: `spec`, then `spec.name`. */
export function childPath(parent: FieldPath | undefined, name: string): FieldPath {
  return parent === undefined || parent === "" || parent === rootPath ? name : `${parent}.${name}`;
}

/** The path of a list item. */
export function indexPath(parent: FieldPath, index: number): FieldPath {
  return keyPath(parent, index);
}

/** The path of an entry of a map whose keys are data rather than fields, or of a list item: `labels[app]`, `ports[0]`. */
export function keyPath(parent: FieldPath, key: string | number): FieldPath {
  return `${parent === rootPath ? "" : parent}[${key}]`;
}

/** The kinds of findings, named as the causes of a Status name them. */
export type FieldErrorType =
  | "FieldValueNotFound"
  | "FieldValueRequired"
  | "FieldValueDuplicate"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooShort"
  | "FieldValueTooMany"
  | "FieldValueTooFew"
  | "FieldValueTypeInvalid"
  | "InternalError";

/** One finding about one field. */
export interface FieldError {
  readonly type: FieldErrorType;
  /** The path; `<nil>` when the finding is about no field in particular. */
  readonly field: FieldPath;
  /** The text without the path, e.g. `Invalid value: "x": must be y`. */
  readonly body: string;
}

const typeTexts: Readonly<Record<FieldErrorType, string>> = {
  FieldValueNotFound: "Not found",
  FieldValueRequired: "Required value",
  FieldValueDuplicate: "Duplicate value",
  FieldValueInvalid: "Invalid value",
  FieldValueNotSupported: "Unsupported value",
  FieldValueForbidden: "Forbidden",
  FieldValueTooLong: "Too long",
  FieldValueTooShort: "Too short",
  FieldValueTooMany: "Too many",
  FieldValueTooFew: "Too few",
  FieldValueTypeInvalid: "Invalid value",
  InternalError: "Internal error",
};

type MaybePath = FieldPath | undefined;

function finding(type: FieldErrorType, field: MaybePath, ...parts: readonly string[]): FieldError {
  const body = [typeTexts[type], ...parts.filter((part) => part !== "")].join(": ");
  return { type, field: field ?? "<nil>", body };
}

/** As much of a text as errors show: a message names a value up to three times, and each escape makes it longer. */
const mostShown = 64 * 1024;

/** A text as errors quote it; of a very long one the beginning, and how long it is. */
export function shownText(text: string): string {
  if (text.length <= mostShown) return goQuote(text);
  return `${goQuote(text.slice(0, mostShown))}${omission(text)}`;
}

/** A text as errors show it without quotes; of a very long one the beginning, and how long it is. */
export function beginningOf(text: string): string {
  return text.length <= mostShown ? text : `${text.slice(0, mostShown)}${omission(text)}`;
}

const omission = (text: string): string => `... (${text.length} characters)`;

/** A value as field errors print it: strings quoted, numbers and booleans plain, the rest as compact JSON. */
export function fieldValueText(value: JsonValue): string {
  if (typeof value === "string") return shownText(value);
  if (typeof value === "number" || typeof value === "bigint") return goNumber(value);
  return goJson(value);
}

/** `<path>: Invalid value: <value>: <detail>`. */
export function invalidValue(field: MaybePath, value: JsonValue, detail: string): FieldError {
  return finding("FieldValueInvalid", field, fieldValueText(value), detail);
}

/** Like {@link invalidValue} for a value printed already. */
export function invalidPrinted(field: MaybePath, printed: string, detail: string): FieldError {
  return finding("FieldValueInvalid", field, printed, detail);
}

/** `<path>: Invalid value: <value>: <detail>`, counted as a type mismatch. */
export function invalidType(field: MaybePath, value: JsonValue, detail: string): FieldError {
  return finding("FieldValueTypeInvalid", field, fieldValueText(value), detail);
}

/** `<path>: Required value: <detail>`. */
export function requiredValue(field: MaybePath, detail = ""): FieldError {
  return finding("FieldValueRequired", field, detail);
}

/** `<path>: Forbidden: <detail>`. */
export function forbiddenValue(field: MaybePath, detail: string): FieldError {
  return finding("FieldValueForbidden", field, detail);
}

/** `<path>: Unsupported value: <value>: supported values: "a", "b"`. */
export function unsupportedValue(field: MaybePath, value: JsonValue, supported: readonly string[]): FieldError {
  return unsupportedOf(field, value, unsupportedDetail(supported));
}

/** What {@link unsupportedValue} prints for the supported values, for callers that need it often. */
export function unsupportedDetail(supported: readonly string[]): string {
  return supported.length === 0 ? "" : `supported values: ${supported.map(goQuote).join(", ")}`;
}

/** Like {@link unsupportedValue} with a detail made before. */
export function unsupportedOf(field: MaybePath, value: JsonValue, detail: string): FieldError {
  return finding("FieldValueNotSupported", field, fieldValueText(value), detail);
}

/** Like {@link unsupportedValue} for a value printed already. */
export function unsupportedPrinted(field: MaybePath, printed: string, supported: readonly string[]): FieldError {
  return finding("FieldValueNotSupported", field, printed, `supported values: ${supported.map(goQuote).join(", ")}`);
}

/** Like {@link duplicateValue} for a value printed already. */
export function duplicatePrinted(field: MaybePath, printed: string): FieldError {
  return finding("FieldValueDuplicate", field, printed);
}

/** `<path>: Duplicate value: <value>`. */
export function duplicateValue(field: MaybePath, value: JsonValue): FieldError {
  return finding("FieldValueDuplicate", field, fieldValueText(value));
}

/**
 * Whether the value at an index of a list stands earlier in it. The list is read once: to look for each value in it takes minutes for
 * the longest list that a request can have.
 */
export function repeatsIn(values: readonly string[]): (index: number) => boolean {
  const seen = new Set<string>();
  const repeated = values.map((value) => seen.has(value) || !seen.add(value));
  return (index) => repeated[index] === true;
}

/** `<path>: Not found: <value>`. */
export function notFoundValue(field: MaybePath, value: JsonValue): FieldError {
  return finding("FieldValueNotFound", field, fieldValueText(value));
}

const counted = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? "" : "s"}`;

/** `<path>: Too long: may not be more than <n> bytes`; a negative limit is not named. */
export function tooLong(field: MaybePath, maxBytes: number): FieldError {
  const detail = maxBytes < 0 ? "value is too long" : `may not be more than ${counted(maxBytes, "byte")}`;
  return finding("FieldValueTooLong", field, detail);
}

/** `<path>: Too long: may not be more than <n> characters`. */
export function tooLongCharacters(field: MaybePath, maxCharacters: number): FieldError {
  const detail =
    maxCharacters < 0 ? "value is too long" : `may not be more than ${counted(maxCharacters, "character")}`;
  return finding("FieldValueTooLong", field, detail);
}

/** `<path>: Too short: must be at least <n> characters`. */
export function tooShort(field: MaybePath, minCharacters: number): FieldError {
  const detail = minCharacters < 0 ? "value is too short" : `must be at least ${counted(minCharacters, "character")}`;
  return finding("FieldValueTooShort", field, detail);
}

/** `<path>: Too many: <actual>: must have at most <n> items`; a negative actual number is not named. */
export function tooMany(field: MaybePath, actual: number, max: number): FieldError {
  const detail = max < 0 ? "has too many items" : `must have at most ${counted(max, "item")}`;
  return finding("FieldValueTooMany", field, actual < 0 ? "" : String(actual), detail);
}

/** `<path>: Too few: <actual>: must have at least <n> items`. */
export function tooFew(field: MaybePath, actual: number, min: number): FieldError {
  const detail = min < 0 ? "has too few items" : `must have at least ${counted(min, "item")}`;
  return finding("FieldValueTooFew", field, String(actual), detail);
}

/** `<path>: Internal error: <detail>`. */
export function internalFieldError(field: MaybePath, detail: string): FieldError {
  return finding("InternalError", field, detail);
}

/** The whole text of a finding, path first. */
export function fieldErrorText(error: FieldError): string {
  return `${error.field}: ${error.body}`;
}

/** The text of several findings: one alone, several as `[a, b]`, each text once. Empty for none. */
export function fieldErrorsText(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(fieldErrorText))];
  return texts.length === 1 ? (texts[0] ?? "") : texts.length === 0 ? "" : `[${texts.join(", ")}]`;
}

/** Most errors that {@link firstErrors} reports. */
const mostErrors = 100;

/** The errors of the members of a map or list, which may have as many errors as members: only the first ones are reported. */
export function firstErrors<T>(
  members: Iterable<T>,
  errorsOf: (member: T, index: number) => readonly FieldError[],
): FieldError[] {
  const errors: FieldError[] = [];
  let index = 0;
  for (const member of members) {
    if (errors.length >= mostErrors) break;
    errors.push(...errorsOf(member, index++));
  }
  return errors;
}

/** {@link firstErrors} in parts: each member is at least one. */
export function* findingFirstErrors<T>(
  members: Iterable<T>,
  errorsOf: (member: T, index: number) => Work<readonly FieldError[]>,
): Work<FieldError[]> {
  const errors: FieldError[] = [];
  let index = 0;
  for (const member of members) {
    if (errors.length >= mostErrors) break;
    errors.push(...(yield* errorsOf(member, index++)));
    yield;
  }
  return errors;
}

/** {@link firstErrors} of the members of a map, by name. Nearly all maps have none, and putting very many names in order takes long. */
export function firstErrorsByName(map: object, errorsOf: (name: string) => readonly FieldError[]): FieldError[] {
  const names = Object.keys(map);
  return names.some((name) => errorsOf(name).length > 0) ? firstErrors(names.sort(compareUtf8), errorsOf) : [];
}
