// SPDX-License-Identifier: Apache-2.0
import { isJsonObject } from "../json/json-value.ts";

/** How much a document may stand for, in characters and members, and how deep. */
export interface ExpansionLimits {
  readonly size: number;
  readonly depth: number;
}

/** Whether a value, written out, stays within limits. Aliases let a few lines of YAML stand for gigabytes, and some for themselves. */
export function isBounded(value: unknown, { size, depth }: ExpansionLimits): boolean {
  let left = size;
  const fits = (part: unknown, deep: number): boolean => {
    left -= typeof part === "string" ? part.length + 1 : 1;
    if (left < 0 || deep > depth) return false;
    if (Array.isArray(part)) return part.every((item) => fits(item, deep + 1));
    if (!isJsonObject(part)) return true;
    return Object.entries(part).every(([name, member]) => {
      left -= name.length;
      return fits(member, deep + 1);
    });
  };
  return fits(value, 0);
}
