// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ArrayList, EntryMap, type ListValue } from "./collections.ts";
import { ConstructedValue, describe, formatDouble, formatPlain, typeNameOf } from "./describe.ts";
import { Duration, Timestamp } from "./time-values.ts";
import { CelError, Meter, none, OptionalValue, TypeValue, Uint, type Value } from "./value.ts";

const values: readonly { readonly why: string; readonly value: Value; readonly text: string; readonly type: string }[] =
  [
    { why: "null", value: null, text: "NULL_VALUE", type: "null_type" },
    { why: "a bool", value: true, text: "true", type: "bool" },
    { why: "an int", value: -5n, text: "-5", type: "int" },
    { why: "a uint", value: new Uint(5n), text: "5", type: "uint" },
    { why: "a double", value: 1e6, text: "1e+06", type: "double" },
    { why: "a string has no quotes", value: 'a"b', text: 'a"b', type: "string" },
    { why: "bytes are numbers", value: Buffer.from([1, 255]), text: "[1 255]", type: "bytes" },
    { why: "a list", value: new ArrayList([1n, "a", null]), text: "[1, a, NULL_VALUE]", type: "list" },
    { why: "a map", value: new EntryMap([["a", new ArrayList([])]]), text: "{a: []}", type: "map" },
    {
      why: "a time",
      value: new Timestamp(0, 5, 3600),
      text: "1970-01-01T01:00:00.000000005+01:00",
      type: "google.protobuf.Timestamp",
    },
    { why: "a type", value: new TypeValue("int"), text: "int", type: "type" },
    { why: "an optional", value: new OptionalValue(1n), text: "optional(1)", type: "optional_type" },
    { why: "no value", value: none, text: "optional.none()", type: "optional_type" },
    { why: "an error is its message", value: new CelError("wrong"), text: "wrong", type: "error" },
    {
      why: "an object of a patch",
      value: new ConstructedValue("Object.spec", new Map([["a", 1n]])),
      text: "{a: 1}",
      type: "Object.spec",
    },
  ];

for (const { why, value, text, type } of values) {
  test(`described: ${why}`, () => {
    assert.equal(describe(value), text);
    assert.equal(typeNameOf(value), type);
  });
}

const durations: readonly (readonly [nanos: bigint, text: string])[] = [
  [0n, "0s"],
  [1n, "1ns"],
  [999n, "999ns"],
  [1000n, "1\u00b5s"],
  [1500n, "1.5\u00b5s"],
  [1_000_000n, "1ms"],
  [1_100_001n, "1.100001ms"],
  [1_000_000_000n, "1s"],
  [-1_500_000_000n, "-1.5s"],
  [59_999_999_999n, "59.999999999s"],
  [60_000_000_000n, "1m0s"],
  [3_600_000_000_000n, "1h0m0s"],
  [3_661_000_000_001n, "1h1m1.000000001s"],
  [90_000_000_000_000n, "25h0m0s"],
  [9_223_372_036_854_775_807n, "2562047h47m16.854775807s"],
  [-9_223_372_036_854_775_808n, "-2562047h47m16.854775808s"],
];

for (const [nanos, text] of durations) {
  test(`a duration of ${nanos} ns is ${text}`, () => assert.equal(describe(new Duration(nanos)), text));
}

const doubles: readonly (readonly [value: number, short: string, plain: string])[] = [
  [0, "0", "0"],
  [-0, "-0", "-0"],
  [1, "1", "1"],
  [-1.5, "-1.5", "-1.5"],
  [100_000, "100000", "100000"],
  [999_999.5, "999999.5", "999999.5"],
  [1_000_000, "1e+06", "1000000"],
  [1_234_567, "1.234567e+06", "1234567"],
  [0.0001, "0.0001", "0.0001"],
  [0.000_012_5, "1.25e-05", "0.0000125"],
  [1e21, "1e+21", "1000000000000000000000"],
  [1e100, "1e+100", `1${"0".repeat(100)}`],
  [5e-324, "5e-324", `0.${"0".repeat(323)}5`],
  [Number.NaN, "NaN", "NaN"],
  [Number.POSITIVE_INFINITY, "+Inf", "+Inf"],
  [Number.NEGATIVE_INFINITY, "-Inf", "-Inf"],
];

for (const [value, short, plain] of doubles) {
  test(`a double printed as ${short}`, () => {
    assert.equal(formatDouble(value), short);
    assert.equal(formatPlain(value), plain);
  });
}

test("printed doubles are read back", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      assert.ok(Object.is(Number(formatDouble(value)), value));
      assert.ok(Object.is(Number(formatPlain(value)), value));
    }),
  );
});

test("an object of a patch has the fields that were given", () => {
  const object = new ConstructedValue("Object", new Map<string, Value>([["a", 1n]]));
  assert.equal(object.size, 1);
  assert.equal(object.find("a"), 1n);
  assert.equal(object.find("b"), undefined);
  assert.equal(object.find(1n), undefined);
  assert.deepEqual([...object.keys()], ["a"]);
});

test("of a list or map that was added to itself over and over only the beginning is shown", () => {
  let list: ListValue = new ArrayList([1n]);
  for (let i = 0; i < 50; i++) list = list.concat(list, new Meter(1_000_000));
  assert.match(describe(list), /^\[1, 1, (1, )+\.\.\.\]$/);
  const inside = new EntryMap([
    ["a", list],
    ["b", new OptionalValue(list)],
  ]);
  assert.match(describe(inside), /^\{a: \[1, (1, )+\.\.\.\], \.\.\.\}$/);
  const text = new ArrayList(Array.from({ length: 1000 }, () => "x".repeat(1000)));
  assert.ok(describe(text).length < 40_000);
});

test("of many bytes only the beginning is shown", () => {
  assert.equal(describe(new Uint8Array([0, 255])), "[0 255]");
  const text = describe(new Uint8Array(3_000_000).fill(255));
  assert.match(text, /^\[255 (255 )+\.\.\.\]$/);
  assert.ok(text.length < 20_000);
});
