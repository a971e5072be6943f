// SPDX-License-Identifier: Apache-2.0

import type { Expr } from "../syntax/ast.ts";
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  stringType,
  timestampType,
  typeParam,
  uintType,
} from "../types/types.ts";
import { ArrayList, elementsOf, ListValue } from "../values/collections.ts";
import { typeNameOf } from "../values/describe.ts";
import { compareValues, equalValues, isOrdered } from "../values/operations.ts";
import {
  CelError,
  CostExceededError,
  EvaluationError,
  type Meter,
  noSuchOverload,
  type Value,
} from "../values/value.ts";
import {
  addRanges,
  type CallEstimate,
  type CostModel,
  characterCost,
  type EstimatedArg,
  exactly,
  listCost,
  multiplyRanges,
  one,
  type Range,
  scaleRange,
  sizeOf,
  unbounded,
} from "./costs.ts";
import { type FunctionDecl, type Implementation, memberOverload, overload, signature } from "./function.ts";

const comparable: readonly CelType[] = [
  intType,
  uintType,
  doubleType,
  boolType,
  durationType,
  timestampType,
  stringType,
  bytesType,
];

const list = listOf(typeParam("T"));

const slice: Implementation = ([source, start, end], meter) => {
  if (!(source instanceof ListValue) || typeof start !== "bigint" || typeof end !== "bigint") return noSuchOverload;
  const fail = (reason: string): CelError => new CelError(`cannot slice(${start}, ${end}), ${reason}`);
  if (start < 0n || end < 0n) return fail("negative indexes not supported");
  if (start > end) return fail("start index must be less than or equal to end index");
  if (end > source.size) return fail(`list is length ${source.size}`);
  meter.elements(Number(end - start));
  const values: Value[] = [];
  for (let index = Number(start); index < Number(end); index++) values.push(source.get(index));
  return new ArrayList(values);
};

const flattenTo: Implementation = (args, meter) => {
  const [source, depth = 1n] = args;
  if (!(source instanceof ListValue)) {
    const [type, ...others] = args.map(typeNameOf);
    return new CelError(`no such overload: ${type}.flatten(${others.join(", ")})`);
  }
  if (typeof depth !== "bigint") return noSuchOverload;
  if (depth < 0n) return new CelError("level must be non-negative");
  const values: Value[] = [];
  flattenInto(values, { list: source, depth: Number(depth), meter });
  return new ArrayList(values);
};

function flattenInto(
  values: Value[],
  { list: source, depth, meter }: { list: ListValue; depth: number; meter: Meter },
): void {
  for (const element of elementsOf(source)) {
    meter.elements(1);
    if (depth > 0 && element instanceof ListValue) flattenInto(values, { list: element, depth: depth - 1, meter });
    else values.push(element);
  }
}

const range: Implementation = ([count], meter) => {
  if (typeof count !== "bigint") return noSuchOverload;
  // Kubernetes makes the list and then finds that it was too expensive; the outcome is the same.
  if (count > 10_000_000n) throw new CostExceededError();
  meter.spend(Math.max(0, Number(count)));
  const values: Value[] = [];
  for (let index = 0; index < count; index++) values.push(BigInt(index));
  return new ArrayList(values);
};

const reverse: Implementation = ([source], meter) => {
  if (!(source instanceof ListValue)) return noSuchOverload;
  meter.elements(source.size);
  const values: Value[] = [];
  for (let index = source.size - 1; index >= 0; index--) values.push(source.get(index));
  return new ArrayList(values);
};

const distinct: Implementation = ([source], meter) => {
  if (!(source instanceof ListValue)) return noSuchOverload;
  if (source.size === 0) return source;
  const unique: Value[] = [];
  for (const element of elementsOf(source)) {
    meter.spend(unique.length);
    if (!unique.some((known) => equalValues(element, known, meter) === true)) unique.push(element);
  }
  return new ArrayList(unique);
};

/** Sorts a list by the keys of a second one. */
function sortByKeys(source: ListValue, keys: ListValue, meter: Meter): Value {
  if (source.size !== keys.size) {
    const sizes = `got ${source.size} and ${keys.size} elements respectively`;
    return new CelError(
      `@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but ${sizes}`,
    );
  }
  if (source.size === 0) return source;
  const first = keys.get(0);
  if (!isOrdered(first)) return new CelError("list elements must be comparable");
  const type = typeNameOf(first);
  const pairs = [...elementsOf(keys)].map((key, index) => ({ key, index }));
  meter.elements(pairs.length * Math.log2(pairs.length + 1));
  if (pairs.length > 1 && pairs.some(({ key }) => typeNameOf(key) !== type)) {
    return new CelError("list elements must have the same type");
  }
  pairs.sort((a, b) => orderOf(a.key, b.key));
  return new ArrayList(pairs.map(({ index }) => source.get(index)));
}

function orderOf(a: Value, b: Value): number {
  const order = compareValues(a, b);
  return typeof order === "number" ? order : 0;
}

type Sort = (args: readonly Value[], meter: Meter) => Value | undefined;

const sort: Sort = ([source], meter) => (source instanceof ListValue ? sortByKeys(source, source, meter) : undefined);

const sortAssociated: Sort = ([source, keys], meter) =>
  source instanceof ListValue && keys instanceof ListValue ? sortByKeys(source, keys, meter) : undefined;

// What a call costs that makes a list: the call, the list, and something for each element.
const madeList = (units: number): number => Math.floor(units) + 1 + listCost;

function estimateList(size: Range, factor: number): CallEstimate {
  return { cost: addRanges(scaleRange(size, factor), one, exactly(listCost)), resultSize: size };
}

/** The cost by the size of the list that is made; `sizeFor` gives it for arguments that make one, and 0 for others. */
const outputSize = (sizeFor: (args: readonly Value[]) => number, estimate: CostModel["estimate"]): CostModel => ({
  needsResult: true,
  actual: (_args, meter, result) => madeList(sizeOf(result, meter)),
  ahead: (args) => madeList(sizeFor(args)),
  estimate,
});

const sizeOfSlice = ([source, start, end]: readonly Value[]): number => {
  if (!(source instanceof ListValue) || typeof start !== "bigint" || typeof end !== "bigint") return 0;
  return start >= 0n && start <= end && end <= source.size ? Number(end - start) : 0;
};

const sizeOfRange = ([count]: readonly Value[]): number =>
  typeof count === "bigint" && count > 0n ? Number(count) : 0;

const sizeOfReversed = ([source]: readonly Value[]): number => (source instanceof ListValue ? source.size : 0);

/** A literal argument as a size; 0 for a negative one. */
function literalSize(expr: Expr | undefined, otherwise: bigint): bigint {
  if (expr?.kind !== "literal" || typeof expr.value !== "bigint") return otherwise;
  return expr.value < 0n ? 0n : expr.value;
}

const sliceCost = outputSize(sizeOfSlice, (call) => {
  if (!call.target) return undefined;
  const start = literalSize(call.args[0]?.expr, 0n);
  const end = literalSize(call.args[1]?.expr, call.sizeOf(call.target).max);
  return estimateList(exactly(BigInt.asUintN(64, end - start)), 1);
});

const rangeCost = outputSize(sizeOfRange, (call) =>
  estimateList(exactly(literalSize(call.args[0]?.expr, unbounded)), 1),
);

const reverseCost = outputSize(sizeOfReversed, (call) => call.target && estimateList(call.sizeOf(call.target), 1));

const flattenCost: CostModel = {
  actual: ([source, depth = 1n], meter) => madeList(sizeOf(source ?? null, meter) * Number(depth)),
  estimate: (call) => {
    if (!call.target) return undefined;
    const [depth] = call.args;
    return estimateList(call.sizeOf(call.target), depth ? Number(literalSize(depth.expr, unbounded)) : 1);
  },
};

/** Comparing every element with every other; text takes a little more. */
function selfComparison(pick: {
  value: number;
  arg: (target: EstimatedArg, args: readonly EstimatedArg[]) => EstimatedArg | undefined;
  isText?: boolean;
}): CostModel {
  const factorOf = (isText: boolean): number => (isText ? 2 + characterCost : 2);
  return {
    actual: (args) => {
      const source = args[pick.value];
      // Kubernetes takes the argument for a list without looking.
      if (source instanceof CelError) {
        throw new EvaluationError("interface conversion: *types.Err is not traits.Lister: missing method Add");
      }
      if (!(source instanceof ListValue) || source.size === 0) return madeList(0);
      const first = source.get(0);
      const isText = typeof first === "string" || first instanceof Uint8Array;
      return madeList(source.size * source.size * factorOf(isText));
    },
    estimate: (call) => {
      const subject = call.target && pick.arg(call.target, call.args);
      if (!subject) return undefined;
      const size = call.sizeOf(subject);
      return estimateList(multiplyRanges(size, size), factorOf(pick.isText ?? false));
    },
  };
}

const isTextType = (type: CelType): boolean => type.kind === "string" || type.kind === "bytes";

/** CEL's lists extension, version 3. */
export const extendedListFunctions: readonly FunctionDecl[] = [
  {
    name: "slice",
    overloads: [
      memberOverload(signature("list_slice", [list, intType, intType], list), slice, {
        stopsAtError: true,
        cost: sliceCost,
      }),
    ],
  },
  {
    name: "flatten",
    isUnguarded: true,
    overloads: [
      memberOverload(signature("list_flatten", [listOf(list)], list), flattenTo, { cost: flattenCost }),
      memberOverload(signature("list_flatten_int", [listOf(dynType), intType], listOf(dynType)), flattenTo, {
        cost: flattenCost,
      }),
    ],
  },
  {
    name: "sort",
    shared: sort,
    overloads: comparable.map((type) =>
      memberOverload(signature(`list_${type.name}_sort`, [listOf(type)], listOf(type)), undefined, {
        cost: selfComparison({ value: 0, arg: (target) => target, isText: isTextType(type) }),
      }),
    ),
  },
  {
    name: "@sortByAssociatedKeys",
    shared: sortAssociated,
    overloads: comparable.map((type) =>
      memberOverload(signature(`list_${type.name}_sortByAssociatedKeys`, [list, listOf(type)], list), undefined, {
        cost: selfComparison({ value: 1, arg: (_target, [keys]) => keys, isText: isTextType(type) }),
      }),
    ),
  },
  {
    name: "lists.range",
    overloads: [overload(signature("lists_range", [intType], listOf(intType)), range, { cost: rangeCost })],
  },
  {
    name: "reverse",
    overloads: [memberOverload(signature("list_reverse", [list], list), reverse, { cost: reverseCost })],
  },
  {
    name: "distinct",
    overloads: [
      memberOverload(signature("list_distinct", [list], list), distinct, {
        cost: selfComparison({ value: 0, arg: (target) => target }),
      }),
    ],
  },
];
