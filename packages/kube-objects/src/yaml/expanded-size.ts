// SPDX-License-Identifier: Apache-2.0

/** How much a document may stand for, in characters and members, and how deep. */
interface ExpansionLimits {
  readonly size: number;
  readonly depth: number;
}

interface Extent {
  /** Characters and members, written out. */
  readonly size: number;
  readonly height: number;
}

const endless: Extent = { size: Number.POSITIVE_INFINITY, height: Number.POSITIVE_INFINITY };

/**
 * Whether a value, written out, stays within limits. Aliases let a few lines of YAML stand for gigabytes, and some for themselves. Each
 * part is measured once, however often it is used.
 */
export function isBounded(value: unknown, { size, depth }: ExpansionLimits): boolean {
  const known = new Map<object, Extent>();
  const measure = (part: unknown, deep: number): Extent => {
    if (typeof part === "string") return { size: part.length + 1, height: 0 };
    if (typeof part !== "object" || part === null) return { size: 1, height: 0 };
    const before = known.get(part);
    if (before !== undefined) return before;
    if (deep > depth) return endless;
    // What is met again while it is measured contains itself.
    known.set(part, endless);
    let total = 1;
    let height = 0;
    for (const [name, member] of Array.isArray(part) ? part.entries() : Object.entries(part)) {
      const extent = measure(member, deep + 1);
      total += extent.size + (typeof name === "string" ? name.length : 0);
      height = Math.max(height, extent.height + 1);
      if (total > size) break;
    }
    const extent = { size: total, height };
    known.set(part, extent);
    return extent;
  };
  const found = measure(value, 0);
  return found.size <= size && found.height <= depth;
}
