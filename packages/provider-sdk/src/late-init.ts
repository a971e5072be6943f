// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";

/** The fields with the given values where they are not set, at any depth; the same object when all are set. Lists are not merged. */
export function lateInitialized(fields: JsonObject, values: JsonObject): JsonObject {
  let result = fields;
  for (const [key, value] of Object.entries(values)) {
    const current = fields[key];
    if (value === null || value === undefined) continue;
    if (current === undefined) result = { ...result, [key]: value };
    else if (isJsonObject(current) && isJsonObject(value)) {
      const merged = lateInitialized(current, value);
      if (merged !== current) result = { ...result, [key]: merged };
    }
  }
  return result;
}
