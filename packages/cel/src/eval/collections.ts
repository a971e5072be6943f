// SPDX-License-Identifier: Apache-2.0

import { listCost, mapCost, structCost } from "../library/costs.ts";
import type { Comprehension, ListExpr } from "../syntax/ast.ts";
import {
  ArrayList,
  EntryMap,
  elementsOf,
  GrowingList,
  GrowingMap,
  identityOf,
  ListValue,
  MapValue,
} from "../values/collections.ts";
import { ConstructedValue, describe } from "../values/describe.ts";
import { CelError, EvaluationError, isError, OptionalValue, type Value } from "../values/value.ts";
import { constantNode, type Evaluation, goTypeName, type Node, type Step, stepNode } from "./evaluation.ts";
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

/** Whether to continue with the next element. */
function runStep(ev: Evaluation, { condition, step, accumulator }: Fold): boolean {
  if (condition(ev) === false) return false;
  ev.slots[accumulator] = step(ev);
  return true;
}

/** `[a, ?b]`. A list of constants is a constant. */
export function planList({ optionals }: ListExpr, elements: readonly Node[]): Node {
  const make = (values: (index: number) => Value): Value => {
    const made: Value[] = [];
    for (let index = 0; index < elements.length; index++) {
      const value = values(index);
      if (isError(value)) return value;
      if (!optionals.has(index)) made.push(value);
      else if (!(value instanceof OptionalValue)) {
        return new CelError(`cannot initialize optional list element from non-optional value ${describe(value)}`);
      } else if (value.hasValue) made.push(value.value);
    }
    return new ArrayList(made);
  };
  const constants = constantsOf(elements);
  if (constants) return constantNode(make((index) => constants[index] ?? null));
  return stepNode((ev) => {
    const list = make((index) => elements[index]?.eval(ev) ?? null);
    ev.charge(listCost);
    return list;
  });
}

interface PlannedEntry {
  readonly key: Node;
  readonly value: Node;
  readonly isOptional: boolean;
}

/** `{k: a, ?l: b}`. A map of constants is a constant. */
export function planMap(entries: readonly PlannedEntry[]): Node {
  const make = (read: (node: Node) => Value): Value => {
    const made = new Map<unknown, readonly [Value, Value]>();
    for (const entry of entries) {
      const key = read(entry.key);
      if (isError(key)) return key;
      const value = read(entry.value);
      if (isError(value)) return value;
      if (key instanceof Uint8Array) throw new EvaluationError("runtime error: hash of unhashable type types.Bytes");
      if (!entry.isOptional) made.set(identityOf(key), [key, value]);
      else if (!(value instanceof OptionalValue)) return notOptional(key, value);
      else if (value.hasValue) made.set(identityOf(key), [key, value.value]);
      else made.delete(identityOf(key));
    }
    return new EntryMap(made.values());
  };
  const nodes = entries.flatMap(({ key, value }) => [key, value]);
  if (nodes.every(({ kind }) => kind === "constant")) {
    return constantNode(make((node) => (node.kind === "constant" ? node.value : null)));
  }
  return stepNode((ev) => {
    const map = make((node) => node.eval(ev));
    ev.charge(mapCost);
    return map;
  });
}

interface PlannedField {
  readonly name: string;
  readonly value: Node;
  readonly isOptional: boolean;
}

/** `Object{f: a, ?g: b}`. */
export function planStruct(typeName: string, fields: readonly PlannedField[]): Node {
  return stepNode((ev) => {
    const made = new Map<string, Value>();
    for (const { name, value: node, isOptional } of fields) {
      const value = node.eval(ev);
      if (isError(value)) return value;
      if (!isOptional) made.set(name, value);
      else if (!(value instanceof OptionalValue)) return notOptional(name, value);
      else if (value.hasValue) made.set(name, value.value);
    }
    ev.charge(structCost);
    return new ConstructedValue(typeName, made);
  });
}

function notOptional(key: Value, value: Value): CelError {
  return new CelError(`cannot initialize optional entry '${describe(key)}' from non-optional value ${describe(value)}`);
}

function constantsOf(nodes: readonly Node[]): readonly Value[] | undefined {
  const values: Value[] = [];
  for (const node of nodes) {
    if (node.kind !== "constant") return undefined;
    values.push(node.value);
  }
  return values;
}
