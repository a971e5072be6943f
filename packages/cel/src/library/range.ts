// SPDX-License-Identifier: Apache-2.0

/** The least and the most a size or a cost can be. Nothing goes beyond 64 bits: the most there is means unbounded. */
export interface Range {
  readonly min: bigint;
  readonly max: bigint;
}

export const unbounded: bigint = 2n ** 64n - 1n;
export const unknownSize: Range = { min: 0n, max: unbounded };

const capped = (value: bigint): bigint => lesser(value, unbounded);

export const exactly = (value: bigint | number): Range => ({ min: BigInt(value), max: BigInt(value) });
export const one: Range = exactly(1);
export const zero: Range = exactly(0);

export function addRanges(...ranges: readonly Range[]): Range {
  let { min, max } = zero;
  for (const range of ranges) {
    min = capped(min + range.min);
    max = capped(max + range.max);
  }
  return { min, max };
}

export function multiplyRanges(a: Range, b: Range): Range {
  return { min: capped(a.min * b.min), max: capped(a.max * b.max) };
}

/** Each end times a factor, rounded up. */
export function scaleRange({ min, max }: Range, factor: number): Range {
  return { min: scale(min, factor), max: scale(max, factor) };
}

function scale(value: bigint, factor: number): bigint {
  const float = Number(value);
  if (float > 0 && factor > 0 && float > 2 ** 64 / factor) return unbounded;
  const scaled = Math.ceil(float * factor);
  return scaled >= 2 ** 64 ? unbounded : BigInt(scaled);
}

/** The smallest range that holds both. */
export function unionRanges(a: Range, b: Range): Range {
  return { min: lesser(a.min, b.min), max: b.max === lesser(a.max, b.max) ? a.max : b.max };
}

/** The smaller of two numbers that Math.min does not take. */
export function lesser(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}
