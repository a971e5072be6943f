// SPDX-License-Identifier: Apache-2.0
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  intType,
  listOf,
  stringType,
  timestampType,
  typeParam,
  uintType,
} from "../types/types.ts";
import { elementsOf, ListValue, MapValue } from "../values/collections.ts";
import { add, compareValues, equalValues, isOrdered } from "../values/operations.ts";
import { Duration } from "../values/time-values.ts";
import { CelError, isError, type Meter, noSuchOverload, Uint, type Value } from "../values/value.ts";
import { listTraversal } from "./costs.ts";
import { type FunctionDecl, type Implementation, memberOverload, type Overload, signature } from "./function.ts";

type NamedType = readonly [string, CelType];

const summable: readonly (readonly [string, CelType, Value])[] = [
  ["int", intType, 0n],
  ["uint", uintType, new Uint(0n)],
  ["double", doubleType, 0],
  ["duration", durationType, new Duration(0n)],
];

const comparable: readonly NamedType[] = [
  ["int", intType],
  ["uint", uintType],
  ["double", doubleType],
  ["bool", boolType],
  ["duration", durationType],
  ["timestamp", timestampType],
  ["string", stringType],
  ["bytes", bytesType],
];

/** What these functions go through: the elements of a list, or the keys of a map that a dyn turned out to be. */
function* itemsOf(value: Value, meter: Meter): Generator<Value> {
  const items = value instanceof MapValue ? value.keys() : value instanceof ListValue ? elementsOf(value) : [];
  for (const item of items) {
    meter.elements(1);
    yield item;
  }
}

const isIterable = (value: Value | undefined): value is ListValue | MapValue =>
  value instanceof ListValue || value instanceof MapValue;

const isSorted: Implementation = ([list], meter) => {
  if (!isIterable(list)) return noSuchOverload;
  let before: Value | undefined;
  for (const item of itemsOf(list, meter)) {
    if (!isOrdered(item)) return isError(item) ? item : noSuchOverload;
    if (before !== undefined && compareValues(before, item) === 1) return false;
    before = item;
  }
  return true;
};

const sumFrom =
  (start: Value): Implementation =>
  ([list], meter) => {
    if (!isIterable(list)) return noSuchOverload;
    let sum = start;
    for (const item of itemsOf(list, meter)) {
      if (isError(item)) return item;
      sum = add(sum, item, meter) ?? noSuchOverload;
      if (isError(sum)) return sum;
    }
    return sum;
  };

/** The least or the greatest element; `better` is the order that makes the next element win. */
const extreme =
  (name: string, better: -1 | 1): Implementation =>
  ([list], meter) => {
    if (!isIterable(list)) return noSuchOverload;
    let best: Value | undefined;
    for (const item of itemsOf(list, meter)) {
      if (!isOrdered(item)) return isError(item) ? item : noSuchOverload;
      if (best === undefined || compareValues(best, item) === better) best = item;
    }
    return best ?? new CelError(`${name} called on empty list`);
  };

const indexOf: Implementation = ([list, item], meter) => {
  if (!(list instanceof ListValue) || item === undefined) return noSuchOverload;
  for (let index = 0; index < list.size; index++) {
    meter.elements(1);
    if (equalElement(list.get(index), item, meter)) return BigInt(index);
  }
  return -1n;
};

const lastIndexOf: Implementation = ([list, item], meter) => {
  if (!(list instanceof ListValue) || item === undefined) return noSuchOverload;
  for (let index = list.size - 1; index >= 0; index--) {
    meter.elements(1);
    if (equalElement(list.get(index), item, meter)) return BigInt(index);
  }
  return -1n;
};

const equalElement = (a: Value, b: Value, meter: Meter): boolean => equalValues(a, b, meter) === true;

function forEachType(
  types: readonly NamedType[],
  make: (name: string, type: CelType) => Overload,
): readonly Overload[] {
  return types.map(([name, type]) => make(name, type));
}

const element = typeParam("A");

/** Kubernetes' list functions. */
export const kubernetesListFunctions: readonly FunctionDecl[] = [
  {
    name: "isSorted",
    cost: listTraversal,
    overloads: forEachType(comparable, (name, type) =>
      memberOverload(signature(`list_${name}_is_sorted_bool`, [listOf(type)], boolType), isSorted),
    ),
  },
  {
    name: "sum",
    cost: listTraversal,
    overloads: summable.map(([name, type, start]) =>
      memberOverload(signature(`list_${name}_sum_${name}`, [listOf(type)], type), sumFrom(start)),
    ),
  },
  {
    name: "max",
    cost: listTraversal,
    overloads: forEachType(comparable, (name, type) =>
      memberOverload(signature(`list_${name}_max_${name}`, [listOf(type)], type), extreme("max", -1)),
    ),
  },
  {
    name: "min",
    cost: listTraversal,
    overloads: forEachType(comparable, (name, type) =>
      memberOverload(signature(`list_${name}_min_${name}`, [listOf(type)], type), extreme("min", 1)),
    ),
  },
  {
    name: "indexOf",
    cost: listTraversal,
    overloads: [memberOverload(signature("list_a_index_of_int", [listOf(element), element], intType), indexOf)],
  },
  {
    name: "lastIndexOf",
    cost: listTraversal,
    overloads: [
      memberOverload(signature("list_a_last_index_of_int", [listOf(element), element], intType), lastIndexOf),
    ],
  },
];
