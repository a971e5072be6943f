// SPDX-License-Identifier: Apache-2.0
import type { Comprehension } from "../syntax/ast.ts";
import { CelError, isError } from "../values/cel-error.ts";
import { elementsOf, GrowingList, ListValue } from "../values/list.ts";
import { GrowingMap, MapValue } from "../values/map.ts";
import type { Value } from "../values/value.ts";
import type { Evaluation } from "./evaluation.ts";
import { goTypeName } from "./go-type-name.ts";
import { type Node, type Step, stepNode } from "./node.ts";
import type { Planner } from "./planner.ts";

interface Fold {
  readonly first: number;
  readonly second: number | undefined;
  readonly accumulator: number;
  readonly range: Step;
  readonly condition: Step;
  readonly step: Step;
  readonly result: Step;
}

/** A macro over a list or map. */
export function planComprehension(expr: Comprehension, planner: Planner): Node {
  const init = planner.plan(expr.accuInit).eval;
  const range = planner.plan(expr.range).eval;
  const accumulator = planner.newSlot();
  const first = planner.newSlot();
  const second = expr.iterVar2 === undefined ? undefined : planner.newSlot();
  const accuLoad = loadAccumulator(accumulator, init);
  const locals: [string, Step][] = [
    [expr.accuVar, accuLoad],
    [expr.iterVar, loadSlot(first)],
  ];
  if (expr.iterVar2 !== undefined && second !== undefined) locals.push([expr.iterVar2, loadSlot(second)]);
  const condition = planner.planWith(locals, expr.condition).eval;
  const step = planner.planWith(locals, expr.step).eval;
  const result = planner.planWith([[expr.accuVar, accuLoad]], expr.result).eval;
  return stepNode((ev) => runFold(ev, { first, second, accumulator, range, condition, step, result }));
}

const loadSlot =
  (slot: number): Step =>
  (ev) =>
    ev.slots[slot] ?? null;

/** The accumulator is made when it is first used, which in `optMap` may be never. */
function loadAccumulator(slot: number, init: Step): Step {
  return (ev) => {
    const known = ev.slots[slot];
    if (known !== undefined) return known;
    const value = growing(init(ev));
    ev.slots[slot] = value;
    return value;
  };
}

/** An empty list or map is one that is about to be filled. */
function growing(value: Value): Value {
  if (value instanceof ListValue && value.size === 0) return new GrowingList();
  return value instanceof MapValue && value.size === 0 ? new GrowingMap() : value;
}

function runFold(ev: Evaluation, fold: Fold): Value {
  const range = fold.range(ev);
  if (isError(range)) return range;
  ev.slots[fold.accumulator] = undefined;
  if (range instanceof ListValue) foldList(ev, fold, range);
  else if (range instanceof MapValue) foldMap(ev, fold, range);
  else return notIterable(fold, range);
  const result = fold.result(ev);
  if (result instanceof GrowingList || result instanceof GrowingMap) return result.finished();
  return result;
}

function notIterable({ second }: Fold, range: Value): CelError {
  const type = goTypeName(range);
  return new CelError(
    second === undefined ? `got '${type}', expected iterable type` : `unsupported comprehension range type: ${type}`,
  );
}

function foldList(ev: Evaluation, fold: Fold, list: ListValue): void {
  let index = 0n;
  for (const element of elementsOf(list)) {
    if (fold.second !== undefined) ev.slots[fold.second] = element;
    ev.slots[fold.first] = fold.second === undefined ? element : index++;
    if (!runStep(ev, fold)) return;
  }
}

function foldMap(ev: Evaluation, fold: Fold, map: MapValue): void {
  for (const key of map.keys()) {
    ev.slots[fold.first] = key;
    if (fold.second !== undefined) ev.slots[fold.second] = map.find(key) ?? null;
    if (!runStep(ev, fold)) return;
  }
}

/** Whether to go on with the next element. */
function runStep(ev: Evaluation, { condition, step, accumulator }: Fold): boolean {
  if (condition(ev) === false) return false;
  ev.slots[accumulator] = step(ev);
  return true;
}
