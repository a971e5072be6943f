// SPDX-License-Identifier: Apache-2.0
import { CostExceededError, Meter } from "../values/meter.ts";
import type { Value } from "../values/value.ts";
import type { Attribute } from "./attribute.ts";

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
    if (this.#cost > this.#costLimit || this.#cost < 0) throw new CostExceededError();
  }
}

export type Step = (ev: Evaluation) => Value;

/** A planned expression: a constant, something that can be selected from, or a computation. */
export type Node =
  | { readonly kind: "constant"; readonly value: Value; readonly eval: Step }
  | { readonly kind: "attribute"; readonly attribute: Attribute; readonly eval: Step }
  | { readonly kind: "step"; readonly eval: Step };

export function constantNode(value: Value): Node {
  return { kind: "constant", value, eval: () => value };
}

export function stepNode(step: Step): Node {
  return { kind: "step", eval: step };
}

/** A checked expression that cannot be made a program, for example because a literal cannot be converted. */
export class PlanningError extends Error {}
