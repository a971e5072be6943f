// SPDX-License-Identifier: Apache-2.0
import type { Codec } from "./store.ts";
import type { Version } from "./version.ts";

/**
 * Returns the value of a version and keeps it for the next reader. A value that is still referenced (by an informer's cache) is
 * shared for as long as it is held; beyond that, about `budget` bytes worth of recently used values stay decoded, in two
 * generations: when the young one is full it becomes the old one, and the old one is dropped.
 */
export class Decoder<T extends object> {
  readonly #codec: Codec<T>;
  readonly #budget: number;
  #generations: readonly [young: Set<T>, old: Set<T>] = [new Set(), new Set()];
  #youngBytes = 0;

  constructor(codec: Codec<T>, budget: number) {
    this.#codec = codec;
    this.#budget = budget;
  }

  valueOf(version: Version<T>): T {
    const known = version.decoded?.deref();
    if (known !== undefined) {
      this.#retain(known, version.bytes.length);
      return known;
    }
    const value = this.#codec.decode(version.bytes);
    this.remember(version, value);
    return value;
  }

  /** Takes the value that a writer has just encoded, so that it is not decoded again. */
  remember(version: Version<T>, value: T): void {
    version.decoded = new WeakRef(value);
    this.#retain(value, version.bytes.length);
  }

  #retain(value: T, size: number): void {
    const [young] = this.#generations;
    if (young.has(value)) return;
    if (this.#youngBytes + size > this.#budget / 2) {
      this.#generations = [new Set([value]), young];
      this.#youngBytes = size;
      return;
    }
    young.add(value);
    this.#youngBytes += size;
  }
}
