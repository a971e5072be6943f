// SPDX-License-Identifier: Apache-2.0

/** The smallest value that so large a part of all values does not exceed. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)];
  if (value === undefined) throw new Error("a percentile of nothing");
  return value;
}
