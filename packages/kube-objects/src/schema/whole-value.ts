// SPDX-License-Identifier: Apache-2.0
import { goJson } from "../json/go-text.ts";
import type { JsonValue } from "../json/json-value.ts";
import { isNestedDeeperThan, maxNesting } from "./nesting.ts";

/**
 * A value to be printed or compared as a whole. Both recurse, so what is nested too deeply is replaced by a text that
 * says so: two such values count as the same.
 */
export function wholeValue(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  return isNestedDeeperThan(value, maxNesting) ? `(nested deeper than ${maxNesting} levels)` : value;
}

/** A text that two values share exactly when they are equal: the order of keys does not matter, 1 and 1.0 are the same. */
export function valueKey(value: JsonValue): string {
  if (typeof value === "string") return `"${value}`; // an open quote is enough to tell it from everything else
  return typeof value === "object" ? goJson(wholeValue(value)) : String(value);
}
