// SPDX-License-Identifier: Apache-2.0
import { quoteGo } from "../library/quote-go.ts";
import { isRawInteger } from "../schema/raw-json.ts";
import { formatDouble } from "../values/format-double.ts";

/** What kind of problem a field has, as the causes of a Kubernetes Status name it. */
type FieldErrorType =
  | "FieldValueDuplicate"
  | "FieldValueForbidden"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueRequired"
  | "InternalError";

/** A problem with one field, in the words of the API server. */
export interface FieldError {
  readonly type: FieldErrorType;
  /** The path of the field; `<nil>` is the object itself. */
  readonly field: string;
  /** The text without the path, for example `Invalid value: 3: must be even`. */
  readonly body: string;
}

const titles: Readonly<Record<FieldErrorType, string>> = {
  FieldValueDuplicate: "Duplicate value",
  FieldValueForbidden: "Forbidden",
  FieldValueInvalid: "Invalid value",
  FieldValueNotSupported: "Unsupported value",
  FieldValueRequired: "Required value",
  InternalError: "Internal error",
};

/** An error about a field; undefined parts are left out. */
export function fieldError(type: FieldErrorType, field: string, ...parts: readonly (string | undefined)[]): FieldError {
  const body = [titles[type], ...parts].filter((part) => part !== undefined && part !== "").join(": ");
  return { type, field, body };
}

export function invalid(field: string, value: unknown, detail: string): FieldError {
  return fieldError("FieldValueInvalid", field, formatValue(value), detail);
}

export function forbidden(field: string, detail: string): FieldError {
  return fieldError("FieldValueForbidden", field, detail);
}

export function required(field: string, detail: string): FieldError {
  return fieldError("FieldValueRequired", field, detail);
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["<", "\\u003c"],
  [">", "\\u003e"],
  ["&", "\\u0026"],
]);

/** A value as messages show it: text quoted, numbers and booleans plain, the rest as JSON. */
export function formatValue(value: unknown): string {
  if (typeof value === "string") return quoteGo(value);
  if (isRawInteger(value)) return String(BigInt(value));
  if (typeof value === "number") return formatDouble(value);
  if (typeof value !== "object") return String(value);
  return JSON.stringify(value).replace(/[<>&]/g, (char) => escapes.get(char) ?? char);
}
