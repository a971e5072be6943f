// SPDX-License-Identifier: Apache-2.0
// Macros over lists and maps, and names for values.

import type { Comprehension } from "../syntax/ast.ts";
import { accumulator } from "../syntax/macro-builder.ts";
import { GrowingList, GrowingMap, LazyMap, ListValue, MapValue } from "../values/collections.ts";
import { CelError, isError, type Value } from "../values/value.ts";
import {
  after,
  type Continuation,
  type Evaluation,
  type Node,
  type Step,
  type StepResult,
  stepNode,
  suspended,
} from "./evaluation.ts";
import { goTypeName } from "./go-type-name.ts";
import type { Planner } from "./planner.ts";

interface Fold {
  readonly first: number;
  readonly second: number | undefined;
  readonly accumulator: number;
  readonly condition: Step;
  readonly step: Step;
  readonly result: Step;
}

/** A macro over a list or map. */
export function planComprehension(expr: Comprehension, planner: Planner): Node {
  const isCollected = expr.accuVar === accumulator;
  const init = planner.planLazy(expr.accuInit).eval;
  const range = planner.planBlock(() => planner.plan(expr.range)).eval;
  const slot = planner.newSlot();
  const first = planner.newSlot();
  const second = expr.iterVar2 === undefined ? undefined : planner.newSlot();
  const accuLoad = loadAccumulator(slot, init, isCollected ? growing : (value) => value);
  const locals: [string, Step][] = [
    [expr.accuVar, accuLoad],
    [expr.iterVar, loadSlot(first)],
  ];
  if (expr.iterVar2 !== undefined && second !== undefined) locals.push([expr.iterVar2, loadSlot(second)]);
  const condition = planner.planWith(locals, expr.condition).eval;
  const step = planner.planWith(locals, expr.step).eval;
  const result = planner.planWith([[expr.accuVar, accuLoad]], expr.result).eval;
  const fold: Fold = { first, second, accumulator: slot, condition, step, result: after(result, finished) };
  return stepNode(after(range, (ev, value) => runFold(ev, fold, value)));
}

const loadSlot =
  (slot: number): Step =>
  (ev) =>
    ev.slots[slot] ?? null;

/** The accumulator is made when it is first used, which in `optMap` may be never. */
function loadAccumulator(slot: number, init: Step, prepare: (value: Value) => Value): Step {
  const made = after(init, (ev, value) => {
    const prepared = prepare(value);
    ev.slots[slot] = prepared;
    return prepared;
  });
  return (ev) => {
    const known = ev.slots[slot];
    return known === undefined ? made(ev) : known;
  };
}

/**
 * The accumulator of a macro that collects grows in place. Expressions cannot read it, unlike the values that `optMap` and `cel.bind`
 * give a name.
 */
function growing(value: Value): Value {
  if (value instanceof ListValue && value.size === 0) return new GrowingList();
  return value instanceof MapValue && value.size === 0 ? new GrowingMap() : value;
}

function finished(_: Evaluation, result: Value): Value {
  return result instanceof GrowingList || result instanceof GrowingMap ? result.finished() : result;
}

function runFold(ev: Evaluation, fold: Fold, range: Value): StepResult {
  if (isError(range)) return range;
  if (!(range instanceof ListValue || range instanceof MapValue)) return notIterable(fold, range);
  if (fold.second !== undefined && range instanceof LazyMap && range.evaluatePartOfAll()) {
    return ev.suspend(() => runFold(ev, fold, range));
  }
  ev.slots[fold.accumulator] = undefined;
  if (range.size === 0) return fold.result(ev);
  const keys = range instanceof MapValue ? range.keys()[Symbol.iterator]() : undefined;
  return runRounds(ev, { fold, range, keys, index: 0 });
}

/** The rounds of a comprehension that has begun. */
interface Rounds {
  readonly fold: Fold;
  readonly range: ListValue | MapValue;
  /** Those of a map. */
  readonly keys: Iterator<Value> | undefined;
  /** That of the next element of a list. */
  index: number;
}

/** Runs the rounds that are left, and then the result. */
function runRounds(ev: Evaluation, rounds: Rounds): StepResult {
  const { condition, step, accumulator: slot, result } = rounds.fold;
  for (;;) {
    if (ev.isPartDone) return ev.suspend(proceed(rounds));
    if (!beginNext(ev, rounds)) return result(ev);
    const isNext = condition(ev);
    if (isNext === suspended) return ev.suspend(decide(rounds));
    if (isNext === false) return result(ev);
    const value = step(ev);
    if (value === suspended) return ev.suspend(endRound(rounds));
    ev.slots[slot] = value;
  }
}

const proceed =
  (rounds: Rounds): Continuation =>
  (ev) =>
    runRounds(ev, rounds);

const decide =
  (rounds: Rounds): Continuation =>
  (ev, isNext) => {
    const { step, result } = rounds.fold;
    if (isNext === false) return result(ev);
    const value = step(ev);
    return value === suspended ? ev.suspend(endRound(rounds)) : endRound(rounds)(ev, value);
  };

const endRound =
  (rounds: Rounds): Continuation =>
  (ev, value) => {
    ev.slots[rounds.fold.accumulator] = value;
    return runRounds(ev, rounds);
  };

/** Whether there is another element. */
function beginNext(ev: Evaluation, rounds: Rounds): boolean {
  const { range } = rounds;
  const { first, second } = rounds.fold;
  if (range instanceof MapValue) {
    const next = rounds.keys?.next();
    if (next === undefined || next.done) return false;
    ev.slots[first] = next.value;
    if (second !== undefined) ev.slots[second] = range.find(next.value) ?? null;
    return true;
  }
  if (rounds.index >= range.size) return false;
  const index = rounds.index++;
  ev.slots[second ?? first] = range.get(index);
  if (second !== undefined) ev.slots[first] = BigInt(index);
  return true;
}

function notIterable({ second }: Fold, range: Value): CelError {
  const type = goTypeName(range);
  return new CelError(
    second === undefined ? `got '${type}', expected iterable type` : `unsupported comprehension range type: ${type}`,
  );
}
