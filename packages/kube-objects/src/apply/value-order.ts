// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { ownValue } from "../json/own-value.ts";
import { compareUtf8, sortedKeys } from "../json/utf8.ts";

// Numbers first, then strings, booleans, lists, maps, and null last.
function rank(value: JsonValue): number {
  switch (typeof value) {
    case "number":
    case "bigint":
      return 0;
    case "string":
      return 1;
    case "boolean":
      return 2;
    default:
      return value === null ? 5 : Array.isArray(value) ? 3 : 4;
  }
}

/** Orders any two JSON values as FieldsV1 orders the values of a set. */
export function compareValues(a: JsonValue, b: JsonValue): number {
  const difference = rank(a) - rank(b);
  if (difference !== 0) return difference;
  if (typeof a === "string") return compareUtf8(a, b as string);
  if (typeof a === "boolean") return Number(a) - Number(b);
  if (typeof a === "number" || typeof a === "bigint") return compareNumbers(a, b as number | bigint);
  if (Array.isArray(a)) return compareLists(a, b as JsonArray);
  return isJsonObject(a) ? compareMaps(a, b as JsonObject) : 0;
}

const compareNumbers = (a: number | bigint, b: number | bigint): number => (a < b ? -1 : a > b ? 1 : 0);

function compareLists(a: JsonArray, b: JsonArray): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const order = compareValues(a[i] ?? null, b[i] ?? null);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareMaps(a: JsonObject, b: JsonObject): number {
  const aKeys = sortedKeys(a);
  const bKeys = sortedKeys(b);
  for (let i = 0; i < Math.min(aKeys.length, bKeys.length); i++) {
    const aKey = aKeys[i] ?? "";
    const bKey = bKeys[i] ?? "";
    const order = compareUtf8(aKey, bKey) || compareValues(ownValue(a, aKey) ?? null, ownValue(b, bKey) ?? null);
    if (order !== 0) return order;
  }
  return aKeys.length - bKeys.length;
}
