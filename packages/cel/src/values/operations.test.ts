// SPDX-License-Identifier: Apache-2.0
// Equality, order and arithmetic of values, below the type checker: what is left to the evaluator for dynamic values.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { showValue } from "../../test/expressions.ts";
import { ArrayList, EntryMap } from "./collections.ts";
import {
  type Arithmetic,
  add,
  compareValues,
  divide,
  equalValues,
  isOrdered,
  modulo,
  multiply,
  negate,
  subtract,
} from "./operations.ts";
import { Duration, Timestamp } from "./time-values.ts";
import {
  CelError,
  CostExceededError,
  Meter,
  maxInt,
  maxUint,
  minInt,
  none,
  OptionalValue,
  TypeValue,
  Uint,
  type Value,
} from "./value.ts";

const meter = (): Meter => new Meter(1_000_000);
const bytes = (text: string): Uint8Array => Buffer.from(text);
const list = (...values: Value[]): ArrayList => new ArrayList(values);
const uint = (value: bigint): Uint => new Uint(value);
const shown = (value: Value | undefined): string => (value === undefined ? "unknown" : showValue(value));
const boom = new CelError("boom");

describe("equality", () => {
  const equal = (a: Value, b: Value): string => shown(equalValues(a, b, meter()));

  const same: readonly (readonly [Value, Value])[] = [
    [1n, 1n],
    [1n, 1],
    [1n, uint(1n)],
    [uint(1n), 1],
    [0, -0],
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    ["a", "a"],
    [true, true],
    [null, null],
    [bytes("a"), bytes("a")],
    [new Timestamp(1, 2), new Timestamp(1, 2, 3600)],
    [new Duration(5n), new Duration(5n)],
    [new TypeValue("int"), new TypeValue("int")],
    [none, none],
    [new OptionalValue(1n), new OptionalValue(1)],
    [list(1n, "a"), list(1, "a")],
    [list(), list()],
  ];
  for (const [a, b] of same) {
    test(`${shown(a)} is ${shown(b)}`, () => {
      assert.equal(equal(a, b), "true");
      assert.equal(equal(b, a), "true");
    });
  }

  const different: readonly (readonly [Value, Value])[] = [
    [1n, 2n],
    [1n, 1.5],
    [-1n, uint(maxUint)],
    [Number.NaN, Number.NaN],
    ["a", "b"],
    ["a", "ab"],
    ["1", 1n],
    ["true", true],
    [null, 0n],
    [null, false],
    [bytes("a"), bytes("b")],
    [bytes("a"), "a"],
    [new Timestamp(1, 2), new Timestamp(1, 3)],
    [new Duration(5n), new Duration(6n)],
    [new Duration(5n), 5n],
    [new TypeValue("int"), new TypeValue("uint")],
    [none, new OptionalValue(1n)],
    [new OptionalValue(1n), new OptionalValue(2n)],
    [new OptionalValue(1n), 1n],
    [list(1n), list(1n, 2n)],
    [list(1n, 2n), list(2n, 1n)],
  ];
  for (const [a, b] of different) {
    test(`${shown(a)} is not ${shown(b)}`, () => {
      assert.equal(equal(a, b), "false");
      assert.equal(equal(b, a), "false");
    });
  }

  test("an error on the left is the result", () => assert.equal(equalValues(boom, 1n, meter()), boom));

  test("comparing long texts takes work, unless their lengths differ", () => {
    const long = "a".repeat(1_600);
    assert.throws(() => equalValues(long, `${long.slice(1)}b`, new Meter(99)), CostExceededError);
    assert.equal(equalValues(long, `${long.slice(1)}b`, new Meter(100)), false);
    assert.equal(equalValues(long, "b", new Meter(0)), false);
  });
});

describe("order", () => {
  const ascending: readonly (readonly Value[])[] = [
    [
      Number.NEGATIVE_INFINITY,
      minInt,
      -1.5,
      -1n,
      0n,
      0.5,
      uint(1n),
      2,
      maxInt,
      uint(maxUint),
      Number.POSITIVE_INFINITY,
    ],
    ["", "A", "a", "aa", "b", "é", "\uffff", "\u{10000}"],
    [false, true],
    [bytes(""), bytes("a"), bytes("ab"), bytes("b")],
    [new Timestamp(-1, 5), new Timestamp(0, 0), new Timestamp(0, 1), new Timestamp(1, 0)],
    [new Duration(-1n), new Duration(0n), new Duration(1n)],
  ];
  for (const values of ascending) {
    test(values.map(shown).join(" < "), () => {
      for (const [i, a] of values.entries()) {
        for (const [j, b] of values.entries())
          assert.equal(compareValues(a, b), Math.sign(i - j), `${shown(a)} ${shown(b)}`);
        assert.equal(isOrdered(a), true);
      }
    });
  }

  test("NaN has no order", () => {
    for (const other of [1, Number.NaN, 1n, uint(1n)]) {
      assert.equal(shown(compareValues(Number.NaN, other) as Value), "ERR NaN values cannot be ordered");
      assert.equal(shown(compareValues(other, Number.NaN) as Value), "ERR NaN values cannot be ordered");
    }
    assert.equal(shown(compareValues(Number.NaN, "a") as Value), "ERR NaN values cannot be ordered");
  });

  test("values of different kinds have none", () => {
    for (const [a, b] of [
      [1n, "a"],
      ["a", 1n],
      [true, 1n],
      [bytes("a"), "a"],
      [new Timestamp(0, 0), new Duration(0n)],
      [list(), list()],
      [null, null],
    ] as const) {
      assert.equal(shown(compareValues(a, b) as Value), "ERR no such overload");
    }
  });

  test("lists, maps, null, optionals and types cannot be ordered", () => {
    for (const value of [list(), new EntryMap([]), null, none, new TypeValue("int")])
      assert.equal(isOrdered(value), false);
  });

  test("an error on the right is the result", () => assert.equal(compareValues(1n, boom), boom));
});

describe("arithmetic", () => {
  const hour = new Duration(3_600_000_000_000n);
  const time = new Timestamp(0, 0);
  const rows: readonly {
    readonly name: string;
    readonly of: Arithmetic;
    readonly results: readonly (readonly [Value, Value, string])[];
  }[] = [
    {
      name: "+",
      of: add,
      results: [
        [1n, 2n, "3"],
        [maxInt, 1n, "ERR integer overflow"],
        [minInt, -1n, "ERR integer overflow"],
        [uint(1n), uint(2n), "3u"],
        [uint(maxUint), uint(1n), "ERR unsigned integer overflow"],
        [0.1, 0.2, "double 0.30000000000000004"],
        ["a", "b", '"ab"'],
        [bytes("a"), bytes("b"), "b6162"],
        [list(1n), list(2n), "[1, 2]"],
        [hour, hour, "duration 7200000000000"],
        [time, hour, "timestamp 1970-01-01T01:00:00Z"],
        [hour, time, "timestamp 1970-01-01T01:00:00Z"],
        [new Duration(maxInt), new Duration(1n), "ERR integer overflow"],
        [1n, 1, "ERR no such overload"],
        [1n, uint(1n), "ERR no such overload"],
        ["a", 1n, "ERR no such overload"],
        [time, time, "ERR no such overload"],
        [true, true, "unknown"],
        [null, 1n, "unknown"],
      ],
    },
    {
      name: "-",
      of: subtract,
      results: [
        [1n, 2n, "-1"],
        [minInt, 1n, "ERR integer overflow"],
        [uint(1n), uint(2n), "ERR unsigned integer overflow"],
        [1.5, 0.5, "double 1"],
        [hour, new Duration(1n), "duration 3599999999999"],
        [new Timestamp(3600, 0), time, "duration 3600000000000"],
        [new Timestamp(3600, 0), hour, "timestamp 1970-01-01T00:00:00Z"],
        [time, new Duration(minInt), "ERR integer overflow"],
        [time, 1n, "ERR no such overload"],
        ["a", "b", "unknown"],
        [hour, time, "ERR no such overload"],
      ],
    },
    {
      name: "*",
      of: multiply,
      results: [
        [3n, -4n, "-12"],
        [maxInt, 2n, "ERR integer overflow"],
        [minInt, -1n, "ERR integer overflow"],
        [uint(3n), uint(4n), "12u"],
        [uint(maxUint), uint(2n), "ERR unsigned integer overflow"],
        [1e308, 10, "double +Inf"],
        [hour, 2n, "unknown"],
        [2n, 2, "ERR no such overload"],
      ],
    },
    {
      name: "/",
      of: divide,
      results: [
        [7n, 2n, "3"],
        [-7n, 2n, "-3"],
        [1n, 0n, "ERR division by zero"],
        [minInt, -1n, "ERR integer overflow"],
        [uint(7n), uint(2n), "3u"],
        [uint(7n), uint(0n), "ERR division by zero"],
        [1, 0, "double +Inf"],
        [-1, 0, "double -Inf"],
        [0, 0, "double NaN"],
      ],
    },
    {
      name: "%",
      of: modulo,
      results: [
        [7n, 3n, "1"],
        [-7n, 3n, "-1"],
        [7n, -3n, "1"],
        [1n, 0n, "ERR modulus by zero"],
        [minInt, -1n, "ERR integer overflow"],
        [uint(7n), uint(4n), "3u"],
        [uint(7n), uint(0n), "ERR modulus by zero"],
        [7, 3, "unknown"],
        [7n, 3, "ERR no such overload"],
      ],
    },
  ];
  for (const { name, of, results } of rows) {
    for (const [a, b, is] of results) {
      test(`${shown(a)} ${name} ${shown(b)} is ${is}`, () => assert.equal(shown(of(a, b, meter())), is));
    }
  }

  const negated: readonly (readonly [Value, string])[] = [
    [5n, "-5"],
    [minInt, "ERR integer overflow"],
    [1.5, "double -1.5"],
    [hour, "duration -3600000000000"],
    [new Duration(minInt), "ERR integer overflow"],
    [true, "ERR no such overload"],
    [uint(1n), "unknown"],
    ["a", "unknown"],
  ];
  for (const [value, is] of negated) test(`-${shown(value)} is ${is}`, () => assert.equal(shown(negate(value)), is));

  test("joining texts takes work", () => {
    assert.throws(() => add("a".repeat(160), "b".repeat(16), new Meter(10)), CostExceededError);
    assert.equal(add("a", "b", new Meter(1)), "ab");
  });
});

describe("the meter", () => {
  test("work may be spent to the last unit", () => {
    const spent = new Meter(10);
    spent.spend(10);
    assert.equal(spent.left, 0);
    assert.throws(() => spent.spend(1), { message: "operation cancelled: actual cost limit exceeded" });
    assert.equal(spent.left, -1);
  });

  test("elements cost four units, sixteen characters one", () => {
    const spent = new Meter(100);
    spent.elements(10);
    spent.characters(160);
    assert.equal(spent.left, 50);
  });
});
