// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";

/**
 * What is needed of each entry, in their order; entries of which nothing is needed are left out. Entries are decoded one after the other, and
 * nothing keeps their values: the objects of a kind may be larger than the memory, and decoding all of them takes seconds.
 */
export function* collecting<E, F>(entries: readonly E[], pick: (entry: E) => F | undefined): Work<F[]> {
  const picked: F[] = [];
  for (const entry of entries) {
    const one = pick(entry);
    if (one !== undefined) picked.push(one);
    yield;
  }
  return picked;
}
