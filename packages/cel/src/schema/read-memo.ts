// SPDX-License-Identifier: Apache-2.0
import type { Value } from "../values/value.ts";

/**
 * Remembers what was read from data, so that reading it again gives the same value. Bytes are then decoded once, and a
 * large map lists its keys once, instead of in every round of a loop. Text and numbers are read faster than remembered.
 */
export class ReadMemo<K extends string | number> {
  #known: Map<K, Value> | undefined;

  get(key: K): Value | undefined {
    return this.#known?.get(key);
  }

  /** Gives the value back. */
  keep(key: K, value: Value): Value {
    if (typeof value === "object" && value !== null) {
      this.#known ??= new Map();
      this.#known.set(key, value);
    }
    return value;
  }
}
