// SPDX-License-Identifier: Apache-2.0
import { CostExceeded, Meter } from "../values/meter.ts";
import type { Value } from "../values/value.ts";

/** What an expression is evaluated over. A variable left out cannot be read. */
export type Variables = Readonly<Record<string, Value | undefined>>;

/** Work beyond what CEL's cost counts, some 200 milliseconds; a rule within its cost limit has no need of more. */
export const maxWork = 20_000_000;

interface Limits {
  readonly cost: number;
  readonly work: number;
}

/** The state of one evaluation: variables, what it has cost, and the places of comprehension variables. */
export class Evaluation {
  readonly variables: Variables;
  readonly meter: Meter;
  readonly slots: (Value | undefined)[];
  readonly #costLimit: number;
  #cost = 0;

  constructor(variables: Variables, slotCount: number, limits: Limits) {
    this.variables = variables;
    this.slots = new Array<Value | undefined>(slotCount).fill(undefined);
    this.#costLimit = limits.cost;
    this.meter = new Meter(limits.work);
  }

  get cost(): number {
    return this.#cost;
  }

  charge(units: number): void {
    this.#cost += units;
    // Less than nothing is an overflow in Kubernetes' counter.
    if (this.#cost > this.#costLimit || this.#cost < 0) throw new CostExceeded();
  }
}
