// SPDX-License-Identifier: Apache-2.0
// What a strategic merge patch made is not read as JSON by the reference: it is converted from a map, field by field, and
// mismatches have other messages.
import { isPartDone, sorting, type Work } from "@purlin/base";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, ownValue } from "../json/json-value.ts";
import { compareUtf8 } from "../json/utf8.ts";
import { type FieldType, messageFields } from "../protobuf/field-table.ts";
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
    yield* convert(type, ownValue(value, member) ?? null);
  }
}

/** Null is the zero value of every type. */
function* convert(type: FieldType, value: JsonValue): Work<void> {
  if (value === null) return;
  switch (type.kind) {
    case "message":
      yield* convertMessage(type.name, value);
      return;
    case "list":
      if (!isJsonArray(value)) throw new TypedFormError(`cannot restore slice from ${goKind(value)}`);
      for (const item of value) {
        if (isPartDone()) yield;
        yield* convert(type.of, item);
      }
      return;
    case "map":
      if (!isJsonObject(value)) throw new TypedFormError(`cannot restore map from ${goKind(value)}`);
      for (const key of yield* sorting(Object.keys(value), compareUtf8)) {
        if (isPartDone()) yield;
        yield* convert(type.of, ownValue(value, key) ?? null);
      }
      return;
    case "scalar":
      convertScalar(type, value);
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
