// SPDX-License-Identifier: Apache-2.0

/**
 * Counts the work of an evaluation beside CEL's cost. CEL charges some operations by the size of their outermost value
 * only, or not at all, so a small cost can hide much work (comparing lists of large maps, counting the characters of a
 * large string over and over). The meter ends such an evaluation as an exceeded cost limit would. A unit is about ten
 * nanoseconds.
 */
export class Meter {
  #left: number;

  constructor(limit: number) {
    this.#left = limit;
  }

  /** What can still be spent; negative once it was too much. */
  get left(): number {
    return this.#left;
  }

  spend(units: number): void {
    this.#left -= units;
    if (this.#left < 0) throw new CostExceededError();
  }

  /** Accounts for elements of lists and entries of maps that are read, compared or copied. */
  elements(count: number): void {
    this.spend(count * 4);
  }

  /** Accounts for characters that are looked at or copied. */
  characters(count: number): void {
    this.spend(count / 16);
  }
}

/** Ends an evaluation whose cost limit is reached. Thrown, because no operator may absorb it. */
export class CostExceededError extends Error {
  constructor() {
    super("operation cancelled: actual cost limit exceeded");
  }
}
