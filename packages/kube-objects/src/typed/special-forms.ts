// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "../json/json-value.ts";
import { parseGoTime } from "./go-time.ts";
import { canonicalQuantity } from "./quantity.ts";
import { TypedFormError } from "./typed-error.ts";

/** Types that are not objects of their fields in JSON: how a value of theirs is written. Null stays null. */
export const specialForms: Readonly<Record<string, (value: JsonValue) => JsonValue>> = {
  "resource.Quantity": quantity,
  "intstr.IntOrString": intOrString,
  "meta.v1.Time": (value) => time(value, "seconds"),
  "meta.v1.MicroTime": (value) => time(value, "micros"),
  "meta.v1.FieldsV1": (value) => value,
  "runtime.RawExtension": (value) => value,
  "apiextensions.v1.JSON": (value) => value,
  "=list": listOfTexts,
};

/** A list as the value of a map, such as the extra information about a user. */
function listOfTexts(value: JsonValue): JsonValue {
  if (value === null || (Array.isArray(value) && value.every((item) => typeof item === "string"))) return value;
  throw new TypedFormError("not a list of strings");
}

const quantityRule = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

function quantity(value: JsonValue): JsonValue {
  if (value === null) return "0";
  const text = typeof value === "string" ? value : String(value);
  const canonical = canonicalQuantity(text.trim());
  if (canonical === undefined) throw new TypedFormError(quantityRule);
  return canonical;
}

/** A time in UTC: whole seconds, or six decimals where the type keeps microseconds. */
function time(value: JsonValue, precision: "seconds" | "micros"): JsonValue {
  if (value === null) return null;
  if (typeof value !== "string") throw new TypedFormError("a time is written as a string");
  const { seconds, micros } = parseGoTime(value, precision);
  return precision === "micros" ? `${seconds}.${micros}Z` : `${seconds}Z`;
}

function intOrString(value: JsonValue): JsonValue {
  if (value === null) return 0;
  const isNumber = typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 2 ** 31;
  if (typeof value !== "string" && !isNumber) throw new TypedFormError("neither a number nor a string");
  return value;
}
