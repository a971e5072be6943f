// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "./json-value.ts";

/** Deep equality of JSON values. Numbers compare by value, as the reference server compares int64 with float64. */
export function jsonEqual(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (typeof a === "object" && typeof b === "object") return compositesEqual(a, b);
  if (typeof a === "bigint" && typeof b === "number") return Number(a) === b;
  if (typeof a === "number" && typeof b === "bigint") return a === Number(b);
  return false;
}

function compositesEqual(a: JsonArray | JsonObject | null, b: JsonArray | JsonObject | null): boolean {
  if (a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && arraysEqual(a, b);
  return isJsonObject(a) && isJsonObject(b) && objectsEqual(a, b);
}

function arraysEqual(a: JsonArray, b: JsonArray): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    if (!jsonEqual(a[i] as JsonValue, b[i] as JsonValue)) return false;
  }
  return true;
}

function objectsEqual(a: JsonObject, b: JsonObject): boolean {
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  for (const key of keys) {
    if (!Object.hasOwn(b, key) || !jsonEqual(a[key] as JsonValue, b[key] as JsonValue)) return false;
  }
  return true;
}
