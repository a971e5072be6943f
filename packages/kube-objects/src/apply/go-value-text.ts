// SPDX-License-Identifier: Apache-2.0
// The reference reports a value of the wrong type by printing its own representation of it. Same text here.
import { goNumber, goQuote } from "../json/go-text.ts";
import { isJsonObject, type JsonValue } from "../json/json-value.ts";
import { ownValue } from "../json/own-value.ts";
import { sortedKeys } from "../json/utf8.ts";

/** A value as `%v` shows the reference's box around it. */
export function boxedText(value: JsonValue): string {
  return `&{${plainText(value)}}`;
}

/** A value as `%#v` shows the reference's box around it. */
export function boxedSyntax(value: JsonValue): string {
  return `&value.valueUnstructured{Value:${syntaxText(value)}}`;
}

/** The name of the Go type the reference decodes a value to. */
export function goTypeName(value: JsonValue): string {
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "bigint":
      return "int64";
    case "number":
      return Number.isInteger(value) ? "int64" : "float64";
    default:
      return value === null ? "<nil>" : Array.isArray(value) ? "[]interface {}" : "map[string]interface {}";
  }
}

function plainText(value: JsonValue): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint") return goNumber(value);
  if (Array.isArray(value)) return `[${value.map(plainText).join(" ")}]`;
  if (!isJsonObject(value)) return value === null ? "<nil>" : String(value);
  return `map[${sortedKeys(value)
    .map((key) => `${key}:${plainText(ownValue(value, key) ?? null)}`)
    .join(" ")}]`;
}

function syntaxText(value: JsonValue): string {
  if (typeof value === "string") return goQuote(value);
  if (typeof value === "number" || typeof value === "bigint") return goNumber(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(syntaxText).join(", ")}}`;
  if (!isJsonObject(value)) return value === null ? "interface {}(nil)" : String(value);
  return `map[string]interface {}{${sortedKeys(value)
    .map((key) => `${goQuote(key)}:${syntaxText(ownValue(value, key) ?? null)}`)
    .join(", ")}}`;
}
