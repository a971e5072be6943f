// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { ArrayList, EntryMap, type ListValue } from "../values/collections.ts";
import { Duration, Timestamp } from "../values/time-values.ts";
import { CostExceededError, Meter, none, OptionalValue, Uint, type Value } from "../values/value.ts";
import { goTypeOf, isRawInteger, isRawObject, isSameJson, toJson as jsonOf, toRaw } from "./raw-json.ts";
import { untyped } from "./schema-map.ts";

const toJson = (value: Value): unknown => jsonOf(value, new Meter(1000));

test("integers are those of 64 bits", () => {
  for (const value of [0, -1, 2 ** 53, 2n ** 63n - 1n, -(2n ** 63n)]) assert.equal(isRawInteger(value), true);
  for (const value of [0.5, 2 ** 63, 2n ** 63n, Number.NaN, "1", null, true]) assert.equal(isRawInteger(value), false);
});

test("objects are plain objects", () => {
  assert.equal(isRawObject({}), true);
  assert.equal(isRawObject(Object.create(null)), true);
  for (const value of [[], null, "a", new Uint(1n), new Date(0)]) assert.equal(isRawObject(value), false);
});

const equal: readonly (readonly [a: unknown, b: unknown])[] = [
  [null, null],
  [1, 1n],
  [9_007_199_254_740_993n, 9_007_199_254_740_993n],
  [
    [1, [2]],
    [1, [2]],
  ],
  [
    { a: 1, b: { c: [] } },
    { b: { c: [] }, a: 1 },
  ],
];
const different: readonly (readonly [a: unknown, b: unknown])[] = [
  [null, false],
  [1, "1"],
  [1.5, 1],
  [9_007_199_254_740_993n, 9_007_199_254_740_992],
  [[1], [1, 2]],
  [
    [1, 2],
    [2, 1],
  ],
  [{ a: 1 }, { b: 1 }],
  [{ a: 1 }, { a: 1, b: 2 }],
  [{}, []],
  [{ a: undefined }, { b: undefined }],
];

test("JSON is compared by value, members in any order", () => {
  for (const [a, b] of equal) assert.equal(isSameJson(a, b), true);
  for (const [a, b] of different) assert.equal(isSameJson(a, b), false);
});

test("data that is nested deeply is compared without recursion", () => {
  const nested = (depth: number): unknown => {
    let value: unknown = 1;
    for (let level = 0; level < depth; level++) value = [value];
    return value;
  };
  assert.equal(isSameJson(nested(100_000), nested(100_000)), true);
  assert.equal(isSameJson(nested(100_000), nested(100_001)), false);
});

test("a comparison is work", () => {
  const list = new Array(1000).fill(1);
  assert.throws(() => isSameJson(list, [...list], new Meter(1000)), CostExceededError);
  assert.equal(isSameJson("a".repeat(100), "a".repeat(100), new Meter(100)), true);
});

test("Go has a type for each value", () => {
  const types = [1, 1.5, 2n ** 70n, true, "a", [], {}, new Timestamp(0, 0), new Duration(1n), new Uint(1n)].map(
    goTypeOf,
  );
  assert.deepEqual(types, [
    "int64",
    "float64",
    "float64",
    "bool",
    "string",
    "[]interface {}",
    "map[string]interface {}",
    "time.Time",
    "time.Duration",
    "uint64",
  ]);
});

test("values of an object are given back as they were", () => {
  const data = { a: [1, { b: 2n ** 60n }] };
  assert.equal(toRaw(untyped(data)), data);
  assert.equal(toJson(untyped(data)), data);
  assert.deepEqual(toRaw(new ArrayList([untyped(data), 1n, new OptionalValue("x"), none])), [data, 1n, "x", null]);
});

test("values of expressions become JSON", () => {
  assert.equal(toJson(5n), 5);
  assert.equal(toJson(9_007_199_254_740_993n), 9_007_199_254_740_993n);
  assert.equal(toJson(new Uint(7n)), 7);
  assert.equal(toJson(none), null);
  assert.equal(toJson(new OptionalValue(1.5)), 1.5);
  assert.equal(toJson(Buffer.from("hi")), "aGk=");
  assert.deepEqual(toJson(new ArrayList([1n, "a", null])), [1, "a", null]);
  assert.equal(toJson(new Timestamp(0, 500_000_000, 3600)), "1970-01-01T01:00:00.5+01:00");
  assert.equal(toJson(new Duration(90_000_000_000n)), "90s");
  const map = new EntryMap([
    [1n, true],
    [new Uint(2n), 1n],
    [false, "a"],
  ]);
  assert.deepEqual(toJson(map), { 1: true, 2: 1, false: "a" });
});

test("JSON without a schema has the types of its values", () => {
  assert.equal(untyped(undefined), null);
  assert.equal(untyped(3), 3n);
  assert.equal(untyped(3.5), 3.5);
  assert.equal(untyped("a"), "a");
});

test("a list that was added to itself over and over does not become JSON", () => {
  let list: ListValue = new ArrayList([1n, 2n]);
  for (let times = 0; times < 40; times++) list = list.concat(list, new Meter(1));
  assert.throws(() => toJson(list), CostExceededError);
});
