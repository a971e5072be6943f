// SPDX-License-Identifier: Apache-2.0
// The reference quotes a strategic merge patch only after it has merged it, and merging uses the patch up: what has been
// dealt with is gone from it.
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { ownValue, setOwnValue } from "../json/own-value.ts";
import { withoutNulls } from "./merge-patch.ts";

const orderPrefix = "$setElementOrder/";

/** What is left of a strategic merge patch when it has been merged into an object. */
export function consumedPatch(original: JsonObject, patch: JsonObject): JsonObject {
  const directive = ownValue(patch, "$patch");
  if (directive === "delete") return patch;
  const ordered = new Set(
    Object.keys(patch)
      .filter((key) => key.startsWith(orderPrefix))
      .map((key) => key.slice(orderPrefix.length)),
  );
  const left: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(orderPrefix) || ordered.has(key) || key === "$retainKeys" || key === "$patch") continue;
    setOwnValue(left, key, directive === "replace" ? value : leftOf(ownValue(original, key), value));
  }
  return left;
}

// What is new has no use for nulls, so they are taken out of the patch itself.
function leftOf(original: JsonValue | undefined, value: JsonValue): JsonValue {
  if (isJsonObject(value)) return isJsonObject(original) ? consumedPatch(original, value) : withoutNulls(value);
  return original === undefined ? withoutNulls(value) : value;
}
