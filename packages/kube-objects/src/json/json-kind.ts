// SPDX-License-Identifier: Apache-2.0
import { isJsonArray, type JsonValue } from "./json-value.ts";

/** What Go's decoder calls a value it cannot use. */
export function jsonKind(value: JsonValue): string {
  if (value === null) return "null";
  if (isJsonArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value === "bigint" ? "number" : typeof value;
}
