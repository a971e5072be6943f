// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "./json-value.ts";

/** Whether objects and lists nest deeper than the limit. Does not recurse itself, so any depth is fine to ask about. */
export function isDeeperThan(value: JsonValue, limit: number): boolean {
  let level: JsonValue[] = [value];
  for (let depth = 0; depth <= limit; depth++) {
    const next: JsonValue[] = [];
    for (const item of level) {
      if (typeof item !== "object" || item === null) continue;
      for (const child of Object.values(item) as JsonValue[]) {
        if (typeof child === "object" && child !== null) next.push(child);
      }
    }
    if (next.length === 0) return level.some(isContainer) && depth + 1 > limit;
    level = next;
  }
  return true;
}

const isContainer = (value: JsonValue): boolean => typeof value === "object" && value !== null;
