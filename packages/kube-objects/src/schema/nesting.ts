// SPDX-License-Identifier: Apache-2.0

/**
 * How deeply schemas and checked values may be nested. Walking them recurses, and a stack that overflows takes the whole
 * request with it; no real schema comes near.
 */
export const maxNesting = 1_000;

/** Whether a value has arrays and objects nested more than `limit` levels deep. Does not recurse; a cycle is deep. */
export function isNestedDeeperThan(value: unknown, limit: number): boolean {
  let level = new Set<object>(isContainer(value) ? [value] : []);
  for (let depth = 1; level.size > 0; depth++) {
    if (depth > limit) return true;
    // A set, so that a part used twice is looked at once a level.
    const next = new Set<object>();
    for (const container of level) {
      for (const member of Object.values(container)) if (isContainer(member)) next.add(member);
    }
    level = next;
  }
  return false;
}

const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null;
