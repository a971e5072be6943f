// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue, setOwn } from "@purlin/function-protocol";

/** What becomes of a list that both sides have. */
export type ListMerge = "replace" | "concat";

/**
 * Lays `source` over `target`, member by member, and returns the result. Neither is changed; what they do not share is
 * not copied. A null in `source` overwrites.
 */
export function mergeObjects(target: JsonObject, source: JsonObject, arrays: ListMerge = "replace"): JsonObject {
  const merged: JsonObject = { ...target };
  for (const [key, value] of Object.entries(source)) {
    const before = Object.hasOwn(merged, key) ? merged[key] : undefined;
    setOwn(merged, key, mergeValues(before, value, arrays));
  }
  return merged;
}

function mergeValues(before: JsonValue | undefined, value: JsonValue, arrays: ListMerge): JsonValue {
  if (isJsonObject(before) && isJsonObject(value)) return mergeObjects(before, value, arrays);
  if (arrays === "concat" && Array.isArray(before) && Array.isArray(value)) return [...before, ...value];
  return value;
}
