// SPDX-License-Identifier: Apache-2.0

/**
 * Counts the work of an evaluation beside CEL's cost. CEL charges some operations by the size of their outermost value
 * only, so a small cost can hide much work (comparing lists of large maps, a template of many large strings). The
 * meter ends such an evaluation as an exceeded cost limit would.
 */
export class Meter {
  #left: number;

  constructor(limit: number) {
    this.#left = limit;
  }

  /** Accounts for `units` steps of about one comparison or sixteen copied characters each. */
  spend(units: number): void {
    this.#left -= units;
    if (this.#left < 0) throw new CostExceeded();
  }
}

/** Ends an evaluation whose cost limit is reached. Thrown, because no operator may absorb it. */
export class CostExceeded extends Error {
  constructor() {
    super("operation cancelled: actual cost limit exceeded");
  }
}
