// SPDX-License-Identifier: Apache-2.0
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects";

/** The JSON merge patch that makes one object of another; undefined where they are equal. */
export function mergeDifference(from: JsonObject, to: JsonObject): JsonObject | undefined {
  const patch: Record<string, JsonValue> = {};
  for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [before, after] = [from[name], to[name]];
    if (isDeepStrictEqual(before, after)) continue;
    if (isJsonObject(before) && isJsonObject(after)) patch[name] = mergeDifference(before, after) ?? {};
    else patch[name] = after === undefined ? null : after;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}
