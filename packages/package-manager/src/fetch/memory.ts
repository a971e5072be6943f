// SPDX-License-Identifier: Apache-2.0

/** Remembers the values used last. */
interface Memory<T> {
  get(key: string): T | undefined;
  /** The weight of a value; 1 unless given. */
  set(key: string, value: T, weight?: number): void;
}

/** Makes a memory for so much weight in all. The value that was set last is kept, whatever it weighs. */
export function createMemory<T>(maxWeight: number): Memory<T> {
  const values = new Map<string, { readonly value: T; readonly weight: number }>();
  let total = 0;
  const forget = (key: string): void => {
    total -= values.get(key)?.weight ?? 0;
    values.delete(key);
  };
  return {
    get(key) {
      const found = values.get(key);
      if (found === undefined) return undefined;
      values.delete(key);
      values.set(key, found);
      return found.value;
    },
    set(key, value, weight = 1) {
      forget(key);
      values.set(key, { value, weight });
      total += weight;
      for (const oldest of values.keys()) {
        if (total <= maxWeight || oldest === key) break;
        forget(oldest);
      }
    },
  };
}
