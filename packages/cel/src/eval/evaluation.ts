// SPDX-License-Identifier: Apache-2.0
// The state of an evaluation, and the steps that it consists of. An evaluation can stop in the middle: each step that waits for
// another one hands in how it goes on with the value of that one.

import { UnknownValueError } from "../values/collections.ts";
import { type CelError, CostExceededError, Meter, type Value } from "../values/value.ts";

/** What an expression is evaluated over. A variable left out cannot be read. */
export type Variables = Readonly<Record<string, Value | undefined>>;

/** Work beyond what CEL's cost counts, some 200 milliseconds; a rule within its cost limit has no need of more. */
export const maxWork = 20_000_000;

/** Units of CEL's cost, and of work beside it. */
export interface Amounts {
  readonly cost: number;
  readonly work: number;
}

/** What one part of an evaluation may take, some 7 milliseconds. */
export const amountsOfPart: Amounts = { cost: 100_000, work: 500_000 };

/** A part as long as the whole evaluation. */
export const onePart: Amounts = { cost: Number.POSITIVE_INFINITY, work: Number.POSITIVE_INFINITY };

interface EvaluationOptions {
  readonly variables: Variables;
  readonly slotCount: number;
  readonly limits: Amounts;
  readonly part: Amounts;
}

/** What a step gives when the part of the evaluation ends inside of it. */
export const suspended: unique symbol = Symbol("suspended");
type Suspended = typeof suspended;

/** The value of a step; the step is over. Or the step goes on in the next part. */
export type StepResult = Value | Suspended;
export type Step = (ev: Evaluation) => StepResult;

/** How a suspended step goes on, with the value of the step that it waits for. */
export type Continuation = (ev: Evaluation, value: Value) => StepResult;

/** The state of one evaluation: variables, what it has cost, and the places of comprehension variables. */
export class Evaluation {
  readonly variables: Variables;
  readonly meter: Meter;
  readonly slots: (Value | undefined)[];
  readonly #limits: Amounts;
  readonly #part: Amounts;
  #cost = 0;
  /** The part is done above this cost, or with less work left. */
  #costOfPart: number;
  #workAfterPart: number;
  /** How the steps that are suspended go on, the innermost first. */
  #suspended: Continuation[] = [];

  constructor({ variables, slotCount, limits, part }: EvaluationOptions) {
    this.variables = variables;
    this.slots = new Array<Value | undefined>(slotCount).fill(undefined);
    this.#limits = limits;
    this.#part = part;
    this.meter = new Meter(limits.work);
    this.#costOfPart = part.cost;
    this.#workAfterPart = limits.work - part.work;
  }

  get cost(): number {
    return this.#cost;
  }

  /** The work that was done beside the cost. */
  get work(): number {
    return this.#limits.work - this.meter.left;
  }

  charge(units: number): void {
    this.#cost += units;
    // Less than nothing is an overflow in Kubernetes' counter.
    if (this.#cost > this.#limits.cost || this.#cost < 0) throw new CostExceededError();
    if (units === 0) this.meter.spend(1);
  }

  /** The cost is again what it was before something that is done once more. */
  refundTo(cost: number): void {
    this.#cost = cost;
  }

  /** Ends the evaluation, at this cost, when something that costs so much exceeds the limit. */
  requireWithin(units: number): void {
    if (this.#cost + units > this.#limits.cost) this.charge(units);
  }

  /** Whether this part has done enough. */
  get isPartDone(): boolean {
    return this.#cost > this.#costOfPart || this.meter.left < this.#workAfterPart;
  }

  /** A step that is given `suspended` by another one, or ends a part itself, returns this. */
  suspend(next: Continuation): Suspended {
    this.#suspended.push(next);
    return suspended;
  }

  /** The next part: the suspended steps go on. */
  resume(): StepResult {
    this.#costOfPart = this.#cost + this.#part.cost;
    this.#workAfterPart = this.meter.left - this.#part.work;
    const waiting = this.#suspended;
    this.#suspended = [];
    let value: Value = null;
    for (const [index, next] of waiting.entries()) {
      const result = next(this, value);
      if (result === suspended) {
        for (const outer of waiting.slice(index + 1)) this.#suspended.push(outer);
        return suspended;
      }
      value = result;
    }
    return value;
  }
}

/** A checked expression that cannot be made a program, for example because a literal cannot be converted. */
export class PlanningError extends Error {}

/** A planned expression: a constant, something that can be selected from, or a computation. */
export type Node =
  | { readonly kind: "constant"; readonly value: Value; readonly eval: Step }
  | { readonly kind: "attribute"; readonly attribute: Attribute; readonly eval: Step }
  | { readonly kind: "step"; readonly eval: Step };

/** A value and what is selected from it, step by step. */
export interface Attribute {
  /** The value at the end of the selection, or an error. */
  readonly resolve: Step;
  addQualifier(qualifier: Qualifier): void;
  /** What evaluating the attribute costs beside its selections. */
  readonly ownCost: 0 | 1;
}

/** One selection: a field, a key or an index. */
export interface Qualifier {
  /** Gives the key, or an error. */
  readonly key: Step;
  /** Written `.?f` or `[?k]`. */
  readonly isOptional: boolean;
  /** The last selection of `has(…)`. */
  readonly isTest: boolean;
}

export function constantNode(value: Value): Node {
  return { kind: "constant", value, eval: () => value };
}

export function stepNode(step: Step): Node {
  return { kind: "step", eval: step };
}

/** A step that does something with the value of another one. */
export function after(step: Step, next: Continuation): Step {
  return (ev) => {
    const value = step(ev);
    return value === suspended ? ev.suspend(next) : next(ev, value);
  };
}

interface Operands {
  readonly steps: readonly Step[];
  /** The result of the whole when the operand that was evaluated last decides it, for example as an error. */
  readonly decide?: (ev: Evaluation, values: readonly Value[]) => CelError | undefined;
  /** The result from the values of all operands. The list of them is not used again. */
  readonly finish: (ev: Evaluation, values: Value[]) => Value;
}

/** A step that evaluates others in their order. */
export function operandsStep({ steps, decide, finish }: Operands): Step {
  const proceed = (ev: Evaluation, values: Value[]): StepResult => {
    for (let index = values.length; index < steps.length; index++) {
      const value = (steps[index] as Step)(ev);
      if (value === suspended) return ev.suspend(takeInto(values));
      values.push(value);
      const decided = decide?.(ev, values);
      if (decided !== undefined) return decided;
    }
    return finishing(ev, values, finish);
  };
  const takeInto =
    (values: Value[]): Continuation =>
    (ev, value) => {
      values.push(value);
      return decide?.(ev, values) ?? proceed(ev, values);
    };
  const [left, right] = steps;
  if (decide !== undefined || left === undefined || right === undefined || steps.length > 2)
    return (ev) => proceed(ev, []);
  // Most operators: without the loop they take two thirds of the time.
  return (ev) => {
    const a = left(ev);
    if (a === suspended) return ev.suspend(takeInto([]));
    const b = right(ev);
    return b === suspended ? ev.suspend(takeInto([a])) : finishing(ev, [a, b], finish);
  };
}

/** The result, once all values of lazy maps that it is made of are known: each is evaluated in parts when it is missed. */
function finishing(ev: Evaluation, values: Value[], finish: Operands["finish"]): StepResult {
  const { cost } = ev;
  try {
    return finish(ev, values);
  } catch (problem) {
    if (!(problem instanceof UnknownValueError)) throw problem;
    const { map, key } = problem;
    ev.refundTo(cost);
    // Suspended also when there was only one part: the calls would nest as deep as there are values.
    const evaluate = (): StepResult => (map.evaluatePart(key) ? ev.suspend(evaluate) : finishing(ev, values, finish));
    return ev.suspend(evaluate);
  }
}
