// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue, ownValue, setOwnValue } from "@purlin/kube-objects/json";

/** Both objects in one: where they differ the second counts, objects in them are merged, and nothing is taken away. */
export function overlaid(under: JsonObject, over: JsonObject): JsonObject {
  const merged: Record<string, JsonValue> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = ownValue(under, key);
    setOwnValue(merged, key, isJsonObject(below) && isJsonObject(value) ? overlaid(below, value) : value);
  }
  return merged;
}
