// SPDX-License-Identifier: Apache-2.0
import { goQuote, type JsonValue } from "@purlin/kube-objects";
import { mismatch, type TypedPlace, TypeMismatch } from "./type-mismatch.ts";

/** Reads a value as the named message; how nested values are read depends on the reader. */
export type ReadNested = (message: string, value: JsonValue) => JsonValue;

/** Gives the JSON form Go would write of a value whose type has a form of its own. Never gets null. */
export type ReadSpecial = (value: JsonValue, place: TypedPlace, read: ReadNested) => JsonValue;

const SCHEMA = "apiextensions.v1.JSONSchemaProps";
const asIs: ReadSpecial = (value) => value;

/** Messages whose JSON form is not an object of their fields. */
export const SPECIAL_VALUES: Readonly<Record<string, ReadSpecial>> = {
  "resource.Quantity": (value, place) => quantity(value, place),
  "intstr.IntOrString": (value, place) => intOrString(value, place),
  "meta.v1.Time": (value, place) => time(value, place, 0),
  "meta.v1.MicroTime": (value, place) => time(value, place, 6),
  "meta.v1.FieldsV1": asIs,
  "runtime.RawExtension": asIs,
  "apiextensions.v1.JSON": asIs,
  "apiextensions.v1.JSONSchemaPropsOrBool": (value, _place, read) =>
    typeof value === "boolean" ? value : read(SCHEMA, value),
  "apiextensions.v1.JSONSchemaPropsOrArray": (value, _place, read) =>
    Array.isArray(value) ? value.map((item) => read(SCHEMA, item)) : read(SCHEMA, value),
  "apiextensions.v1.JSONSchemaPropsOrStringArray": (value, _place, read) =>
    Array.isArray(value) ? value : read(SCHEMA, value),
  "=list": (value, place) => texts(value, place),
};

const quantityPattern = /^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$/;
const quantityText = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

function quantity(value: JsonValue, place: TypedPlace): JsonValue {
  const text = typeof value === "number" || typeof value === "bigint" ? String(value) : value;
  if (typeof text !== "string") {
    throw mismatch(value, "string", place);
  }
  if (text !== "" && !quantityPattern.test(text.trim())) {
    throw new TypeMismatch(quantityText);
  }
  return text === "" ? "0" : text.trim();
}

function intOrString(value: JsonValue, place: TypedPlace): JsonValue {
  if (typeof value === "string") {
    return value;
  }
  if (typeof value !== "number" || !Number.isInteger(value) || Math.abs(value) > 2_147_483_647) {
    throw mismatch(value, "int32", place);
  }
  return value;
}

const timePattern = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}([.,]\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

function time(value: JsonValue, place: TypedPlace, decimals: 0 | 6): JsonValue {
  if (typeof value !== "string") {
    throw mismatch(value, "string", place);
  }
  const fraction = /[.,](\d+)/.exec(value)?.[1] ?? "";
  const date = new Date(value.replace(/[.,]\d+/, ""));
  if (!timePattern.test(value) || Number.isNaN(date.getTime())) {
    const layout = decimals === 0 ? "2006-01-02T15:04:05Z07:00" : "2006-01-02T15:04:05.000000Z07:00";
    throw new TypeMismatch(
      `parsing time ${goQuote(value)} as ${goQuote(layout)}: cannot parse ${goQuote(value)} as "2006"`,
    );
  }
  const seconds = date.toISOString().slice(0, 19);
  return decimals === 0 ? `${seconds}Z` : `${seconds}.${fraction.slice(0, 6).padEnd(6, "0")}Z`;
}

function texts(value: JsonValue, place: TypedPlace): JsonValue {
  if (!Array.isArray(value) || value.some((item) => typeof item !== "string")) {
    throw mismatch(value, "[]string", place);
  }
  return value;
}
