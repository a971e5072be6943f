// SPDX-License-Identifier: Apache-2.0
// What a strategic merge patch made is not read as JSON by the reference: it is converted from a map, field by field, and
// mismatches have other messages.
import { isPartDone, sorting, type Work } from "@purlin/base";
import {
  compareUtf8,
  isJsonArray,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  ownValue,
} from "../json/json-value.ts";
import { type FieldType, messageFields } from "../protobuf/protobuf-fields.ts";
import { specialForms, TypedFormError } from "./special-forms.ts";
import { typeName } from "./typed-form.ts";

/**
 * Makes sure, in parts, that an object of a built-in kind can be converted from a map. Throws a TypedFormError for the first value that
 * does not fit its type, in the words of the reference's converter.
 */
export function* requireConvertible({ apiVersion, kind, ...fields }: JsonObject): Work<void> {
  yield* convertMessage(typeName(String(apiVersion), String(kind)), fields);
}

function* convertMessage(name: string, value: JsonValue): Work<void> {
  const special = specialForms[name];
  if (special !== undefined) {
    special(value);
    return;
  }
  if (name.startsWith("apiextensions.v1.JSONSchemaPropsOr")) return;
  if (!isJsonObject(value)) throw new TypedFormError(`cannot restore struct from: ${goKind(value)}`);
  for (const { name: member, type, inlined } of messageFields(name) ?? []) {
    if (inlined && type.kind === "message") {
      yield* convertMessage(type.name, value);
      continue;
    }
    const inside = converting(type, ownValue(value, member) ?? null);
    if (inside !== undefined) yield* inside;
  }
}

/** Converts a scalar at once, and returns the work that is left for what holds values. Null is the zero value of every type. */
function converting(type: FieldType, value: JsonValue): Work<void> | undefined {
  if (value === null) return undefined;
  switch (type.kind) {
    case "message":
      return convertMessage(type.name, value);
    case "list":
      if (!isJsonArray(value)) throw new TypedFormError(`cannot restore slice from ${goKind(value)}`);
      return convertItems(type.of, value);
    case "map":
      if (!isJsonObject(value)) throw new TypedFormError(`cannot restore map from ${goKind(value)}`);
      return convertEntries(type.of, value);
    case "scalar":
      convertScalar(type, value);
      return undefined;
  }
}

function* convertItems(type: FieldType, items: JsonArray): Work<void> {
  for (const item of items) {
    if (isPartDone()) yield;
    const inside = converting(type, item);
    if (inside !== undefined) yield* inside;
  }
}

function* convertEntries(type: FieldType, map: JsonObject): Work<void> {
  for (const key of yield* sorting(Object.keys(map), compareUtf8)) {
    if (isPartDone()) yield;
    const inside = converting(type, ownValue(map, key) ?? null);
    if (inside !== undefined) yield* inside;
  }
}

function convertScalar({ scalar, goName }: FieldType & { readonly kind: "scalar" }, value: JsonValue): void {
  const kind = goKind(value);
  if (scalar === "bytes") {
    if (kind !== "string") throw new TypedFormError(`cannot restore slice from ${kind}`);
    return;
  }
  const isNumber = kind === "int64" || kind === "float64";
  const fits =
    scalar === "int32" || scalar === "int64"
      ? kind === "int64" || (kind === "float64" && Number.isInteger(value))
      : scalar === "float64"
        ? isNumber
        : kind === scalar;
  if (fits) return;
  // Go would convert these, but to something unexpected: a number becomes the character with that code.
  const isConvertible = scalar === "string" ? kind === "int64" : scalar !== "bool" && isNumber;
  throw new TypedFormError(
    isConvertible ? `cannot convert ${kind} to ${goName ?? scalar}` : `unrecognized type: ${scalar}`,
  );
}

/** What Go's reflection calls a value of JSON. */
function goKind(value: JsonValue): string {
  if (isJsonArray(value)) return "slice";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  if (typeof value === "bigint") return "int64";
  if (typeof value === "boolean") return "bool";
  return typeof value === "string" ? "string" : "map";
}
