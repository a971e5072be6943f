// SPDX-License-Identifier: Apache-2.0

/** Chances that come out the same for the same seed. */
export interface Chance {
  /** From 0 up to but not including 1. */
  next(): number;
  /** A whole number from 0 up to but not including the limit. */
  below(limit: number): number;
  pick<T>(values: readonly T[]): T;
  bytes(length: number): Buffer;
}

/** Starts from a seed (the generator is mulberry32: small, and good enough to choose instants and bytes with). */
export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    pick: <T>(values: readonly T[]): T => {
      if (values.length === 0) throw new Error("there is nothing to pick from");
      return values[below(values.length)] as T;
    },
    bytes: (length) => Buffer.from(Array.from({ length }, () => below(256))),
  };
}
