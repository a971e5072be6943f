// SPDX-License-Identifier: Apache-2.0

/** Gives the items one after the other, for ever. */
export function rotate<T>(items: readonly T[]): () => T {
  let index = 0;
  return () => {
    index = (index + 1) % items.length;
    return items[index] as T;
  };
}
