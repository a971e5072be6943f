// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  ArrayList,
  ConcatList,
  EntryMap,
  elementsOf,
  GrowingList,
  GrowingMap,
  type ListValue,
  listIndex,
} from "./collections.ts";
import { describe, typeNameOf } from "./describe.ts";
import { equalValues } from "./operations.ts";
import { Duration, Timestamp } from "./time-values.ts";
import { CelError, CostExceededError, isError, Meter, TypeValue, Uint, type Value } from "./value.ts";

const meter = (): Meter => new Meter(1_000_000);
const list = (...values: Value[]): ArrayList => new ArrayList(values);
const elements = (of: ListValue): Value[] => [...elementsOf(of)];

test("lists are joined without a copy, and empty ones are left out", () => {
  const head = list(1n, 2n);
  const tail = list(3n);
  const joined = head.concat(tail, meter());
  assert.ok(joined instanceof ConcatList);
  assert.deepEqual(elements(joined), [1n, 2n, 3n]);
  assert.equal(head.concat(list(), meter()), head);
  assert.equal(list().concat(tail, meter()), tail);
  assert.deepEqual(elements(head), [1n, 2n]);
});

test("many joined lists are read by index", () => {
  let joined: ListValue = list(0n);
  for (let index = 1n; index < 50n; index++) joined = joined.concat(list(index), meter());
  joined = list(-1n).concat(joined, meter());
  assert.equal(joined.size, 51);
  assert.deepEqual(
    elements(joined),
    Array.from({ length: 51 }, (_, index) => BigInt(index - 1)),
  );
});

test("a growing list grows in place until it is finished", () => {
  const growing = new GrowingList();
  assert.equal(growing.concat(list(1n), meter()), growing);
  assert.equal(growing.concat(list(2n, 3n), meter()), growing);
  const finished = growing.finished();
  assert.deepEqual(elements(finished), [1n, 2n, 3n]);
  assert.ok(!(finished instanceof GrowingList));
});

test("each element of a list that grows is accounted for", () => {
  assert.throws(() => new GrowingList().concat(list(1n, 2n), new Meter(7)), CostExceededError);
  assert.equal(new GrowingList().concat(list(1n, 2n), new Meter(8)).size, 2);
});

test("elements that cannot be compared do not make lists of expressions unequal, but joined ones fail", () => {
  const problem = new CelError("x");
  const a = list(problem, 2n);
  const b = list(problem, 2n);
  assert.equal(a.equals(b, equalValues, meter()), true);
  assert.equal(a.equals(list(problem, 3n), equalValues, meter()), false);
  const joined = new ConcatList(list(problem), list(2n));
  assert.equal(joined.equals(b, equalValues, meter()), problem);
  assert.equal(joined.equals(list(problem, 3n), equalValues, meter()), false);
  assert.equal(joined.equals(list(1n), equalValues, meter()), false);
});

test("membership in joined lists: the tail decides over an error of the head", () => {
  const inBoth = new ConcatList(list(1n), list(2n));
  assert.equal(inBoth.contains(1n, equalValues, meter()), true);
  assert.equal(inBoth.contains(2n, equalValues, meter()), true);
  assert.equal(inBoth.contains(3n, equalValues, meter()), false);
});

const indices: readonly { readonly why: string; readonly index: Value; readonly is: number | string }[] = [
  { why: "an int", index: 3n, is: 3 },
  { why: "a negative int", index: -3n, is: -3 },
  { why: "a uint", index: new Uint(3n), is: 3 },
  { why: "a uint beyond the ints", index: new Uint(2n ** 63n), is: `unsupported index value ${2n ** 63n} in list` },
  { why: "a whole double", index: 3, is: 3 },
  { why: "a fraction", index: 3.5, is: "unsupported index value 3.5 in list" },
  { why: "a large fraction", index: 1234567.5, is: "unsupported index value 1.2345675e+06 in list" },
  { why: "infinity", index: Number.POSITIVE_INFINITY, is: "unsupported index value +Inf in list" },
  { why: "a string", index: "0", is: "unsupported index type 'string' in list" },
  { why: "null", index: null, is: "unsupported index type 'null_type' in list" },
];

for (const { why, index, is } of indices) {
  test(`index: ${why}`, () => {
    const found = listIndex(index, { typeNameOf, describe });
    assert.equal(isError(found) ? found.message : found, is);
  });
}

test("1, 1u and 1.0 are the same key of a map", () => {
  const map = new EntryMap([
    [1n, "int"],
    [new Uint(2n), "uint"],
    [2.5, "double"],
  ]);
  assert.deepEqual(
    [1n, new Uint(1n), 1].map((key) => map.find(key)),
    ["int", "int", "int"],
  );
  assert.deepEqual(
    [2n, new Uint(2n), 2].map((key) => map.find(key)),
    ["uint", "uint", "uint"],
  );
  assert.deepEqual(
    [2.5, -1n, new Uint(2n ** 63n), 1.5, Number.NaN, -2].map((key) => map.find(key)),
    ["double", undefined, undefined, undefined, undefined, undefined],
  );
});

test("keys of the same text and another type are other keys", () => {
  const map = new EntryMap([
    ["1", "string"],
    [true, "bool"],
  ]);
  assert.deepEqual(
    [1n, "1", true, "true"].map((key) => map.find(key)),
    [undefined, "string", "bool", undefined],
  );
});

test("times, durations and types are keys by their value", () => {
  const map = new EntryMap([
    [new Timestamp(5, 1), "time"],
    [new Duration(7n), "duration"],
    [new TypeValue("int"), "type"],
  ]);
  assert.deepEqual(
    [new Timestamp(5, 1), new Timestamp(5, 2), new Timestamp(5, 1, 60), new Duration(7n), new TypeValue("int")].map(
      (key) => map.find(key),
    ),
    ["time", undefined, undefined, "duration", "type"],
  );
});

test("the last of equal keys counts, at the place of the first", () => {
  const map = new EntryMap([
    ["a", 1n],
    ["b", 2n],
    ["a", 3n],
  ]);
  assert.deepEqual([...map.keys()], ["a", "b"]);
  assert.equal(map.find("a"), 3n);
});

test("a growing map takes entries until it is finished", () => {
  const growing = new GrowingMap();
  growing.insert("a", 1n);
  const finished = growing.finished();
  growing.insert("b", 2n);
  assert.equal(finished.size, 1);
  assert.equal(growing.size, 2);
});

test("maps are equal in any order, and by the equality of numbers", () => {
  const a = new EntryMap([
    ["x", 1n],
    ["y", 2n],
  ]);
  const b = new EntryMap([
    ["y", 2],
    ["x", new Uint(1n)],
  ]);
  assert.equal(a.equals(b, equalValues, meter()), true);
  assert.equal(a.equals(new EntryMap([["x", 1n]]), equalValues, meter()), false);
  assert.equal(a.equals(list(), equalValues, meter()), false);
});

/** The sum of lists of one element each, put together in the order that the numbers give. */
function sumOf(picks: readonly number[]): { readonly sum: ListValue; readonly size: number } {
  let parts: ListValue[] = Array.from({ length: picks.length + 1 }, (_, index) => list(BigInt(index)));
  for (const pick of picks) {
    const at = pick % (parts.length - 1 || 1);
    const [head, tail] = [parts[at], parts[at + 1]];
    if (head === undefined || tail === undefined) break;
    parts = [...parts.slice(0, at), head.concat(tail, meter()), ...parts.slice(at + 2)];
  }
  return { sum: parts[0] ?? list(), size: picks.length + 1 };
}

/** The depth by what a comparison takes: four units for each element, and one for each list that is looked into. */
function depthOf(sum: ListValue): number {
  const spent = new Meter(100_000_000);
  assert.equal(sum.equals(sum, equalValues, spent), true);
  return (100_000_000 - spent.left) / sum.size - 4;
}

test("sums of many lists have their elements in order, and none is deep, whatever is added to what", () => {
  const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 200 });
  const property = fc.property(picks, (order) => {
    const { sum, size } = sumOf(order);
    assert.deepEqual(
      elements(sum),
      Array.from({ length: size }, (_, index) => BigInt(index)),
    );
    assert.ok(depthOf(sum) <= 1.45 * Math.log2(size) + 1, `${size} lists are ${depthOf(sum)} deep`);
  });
  fc.assert(property);
  for (const order of [Array.from({ length: 3000 }, () => 0), Array.from({ length: 3000 }, (_, i) => 2999 - i)]) {
    assert.ok(depthOf(sumOf(order).sum) <= 14);
  }
});
