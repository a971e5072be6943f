// SPDX-License-Identifier: Apache-2.0
// Values as Go prints them inside messages of the reference server.
import { goNumber, goQuote } from "./go-text.ts";
import { isJsonObject, type JsonValue } from "./json-value.ts";
import { ownValue } from "./own-value.ts";
import { sortedKeys } from "./utf8.ts";

/** A value as `%v` prints it: `map[a:1 b:[x y]]`. */
export function goPlain(value: JsonValue): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint") return goNumber(value);
  if (Array.isArray(value)) return `[${value.map(goPlain).join(" ")}]`;
  if (!isJsonObject(value)) return value === null ? "<nil>" : String(value);
  return `map[${sortedKeys(value)
    .map((key) => `${key}:${goPlain(ownValue(value, key) ?? null)}`)
    .join(" ")}]`;
}

/** A value as `%#v` prints it: `map[string]interface {}{"a":1}`. */
export function goSyntax(value: JsonValue): string {
  if (typeof value === "string") return goQuote(value);
  if (typeof value === "number" || typeof value === "bigint") return goNumber(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(", ")}}`;
  if (!isJsonObject(value)) return value === null ? "interface {}(nil)" : String(value);
  return `map[string]interface {}{${sortedKeys(value)
    .map((key) => `${goQuote(key)}:${goSyntax(ownValue(value, key) ?? null)}`)
    .join(", ")}}`;
}

/** The Go type a value is decoded to. */
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
