// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { goFloat } from "../json/go-text.ts";
import { checkValue } from "./check-value.ts";
import { kindedValue, toInt64 } from "./value-kind.ts";

const cases: Record<string, { reason: string; value: unknown; kind: string; as?: unknown }> = {
  Null: { reason: "null", value: null, kind: "null" },
  Undefined: { reason: "undefined cannot be in JSON", value: undefined, kind: "null", as: null },
  Function: { reason: "nor a function", value: () => 1, kind: "null", as: null },
  Symbol: { reason: "nor a symbol", value: Symbol("x"), kind: "null", as: null },
  String: { reason: "a string", value: "x", kind: "string" },
  Boolean: { reason: "a boolean", value: false, kind: "boolean" },
  Integer: { reason: "a whole number", value: 5, kind: "integer" },
  Number: { reason: "a fraction", value: 1.5, kind: "number" },
  LargeNumber: {
    reason: "a double within 64 bits is an integer",
    value: 1e17,
    kind: "integer",
    as: 100000000000000000n,
  },
  HugeNumber: { reason: "one beyond is not", value: 1e19, kind: "number" },
  SmallBigint: { reason: "a bigint that fits a double becomes one", value: 5n, kind: "integer", as: 5 },
  Bigint: { reason: "one that does not stays exact", value: 9007199254740993n, kind: "integer" },
  MaxInt64: { reason: "the largest", value: 2n ** 63n - 1n, kind: "integer" },
  BeyondInt64: { reason: "beyond 64 bits it is a number", value: 2n ** 63n, kind: "number", as: 2 ** 63 },
  BelowInt64: { reason: "and below", value: -(2n ** 63n) - 1n, kind: "number", as: -(2 ** 63) },
  NaN: { reason: "not a number is a number", value: Number.NaN, kind: "number" },
  Infinity: { reason: "as is infinity", value: Number.NEGATIVE_INFINITY, kind: "number" },
  Array: { reason: "a list", value: [1], kind: "array" },
  Object: { reason: "an object", value: { a: 1 }, kind: "object" },
};

for (const [name, { reason, value, kind, as = value }] of Object.entries(cases)) {
  test(`kindedValue ${name}: ${reason}`, () => {
    assert.deepEqual(kindedValue(value), { kind, value: as });
  });
}

test("cutting to 64 bits", () => {
  for (const [value, want] of [
    [1.9, 1n],
    [-1.9, -1n],
    [1e18, 10n ** 18n],
    [1e19, -(2n ** 63n)],
    [Number.NaN, -(2n ** 63n)],
  ] as const) {
    assert.equal(toInt64(value), want);
  }
});

test("floating-point numbers print as in Go", () => {
  for (const [value, want] of [
    [0, "0"],
    [100, "100"],
    [999999, "999999"],
    [1e6, "1e+06"],
    [1234567.5, "1.2345675e+06"],
    [-2.5, "-2.5"],
    [1e-4, "0.0001"],
    [1e-5, "1e-05"],
    [1e300, "1e+300"],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "+Inf"],
    [Number.NEGATIVE_INFINITY, "-Inf"],
  ] as const) {
    assert.equal(goFloat(value), want);
  }
});

test("integers of 64 bits are compared and printed exactly", () => {
  const schema = { type: "integer", maximum: 9007199254740992, multipleOf: 2 };
  assert.deepEqual(
    checkValue(9007199254740993n, schema).map(({ body }) => body),
    [
      "Invalid value: 9007199254740993:  in body should be a multiple of 2",
      "Invalid value: 9007199254740993:  in body should be less than or equal to 9007199254740992",
    ],
  );
  assert.deepEqual(checkValue(1e17, { type: "integer", format: "int64" }), []);
  assert.deepEqual(checkValue([9007199254740993n, 9007199254740992n], { uniqueItems: true }), []);
});
