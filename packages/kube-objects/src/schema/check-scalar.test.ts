// SPDX-License-Identifier: Apache-2.0
// Types of numbers and the numeric keywords, with the quirks of the reference server.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { goFloat } from "../json/go-text.ts";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { checkValue } from "./check-value.ts";

const bodies = (value: JsonValue, schema: JsonObject): readonly string[] =>
  checkValue(value, schema).map(({ body }) => body.replace(":  in body ", ": "));
const fits = (value: JsonValue, schema: JsonObject): boolean => bodies(value, schema).length === 0;

describe("types", () => {
  const rows: readonly {
    readonly value: JsonValue;
    readonly integer: boolean;
    readonly number: boolean;
    readonly why: string;
  }[] = [
    { why: "an integer is a number", value: 1, integer: true, number: true },
    { why: "a number without a fraction is an integer", value: 1.0, integer: true, number: true },
    { why: "a fraction is not", value: 1.5, integer: false, number: true },
    { why: "an integer of 64 bits", value: 9223372036854775807n, integer: true, number: true },
    { why: "an integer of more is a number", value: 2 ** 63, integer: false, number: true },
    { why: "a text is neither", value: "1", integer: false, number: false },
    { why: "a bool is neither", value: true, integer: false, number: false },
  ];
  for (const { why, value, integer, number } of rows) {
    test(why, () => {
      assert.equal(fits(value, { type: "integer" }), integer, "integer");
      assert.equal(fits(value, { type: "number" }), number, "number");
    });
  }
});

test("a fraction that rounding explains has the type of an integer, and not its range", () => {
  assert.deepEqual(bodies(1000000.0000000001, { type: "integer" }), [
    'Invalid value: "": Checked value must be of type integer (default format) in ',
  ]);
  assert.deepEqual(
    bodies(1000000.5, { type: "integer" })[0],
    'Invalid value: "number": must be of type integer: "number"',
  );
});

describe("formats", () => {
  const range = (type: string, format: string): string =>
    `Invalid value: "": Checked value must be of type ${type} ${format} in `;

  test("int32 has 32 bits", () => {
    const schema = { type: "integer", format: "int32" };
    assert.equal(fits(2147483647, schema), true);
    assert.equal(fits(-2147483648, schema), true);
    assert.deepEqual(bodies(2147483648, schema), [range("integer", "with format int32")]);
    assert.deepEqual(bodies(-2147483649, schema), [range("integer", "with format int32")]);
  });

  test("int64 has 64 bits", () => {
    const schema = { type: "integer", format: "int64" };
    assert.equal(fits(9223372036854775807n, schema), true);
    assert.equal(fits(-9223372036854775808n, schema), true);
    assert.equal(fits(2 ** 64, schema), false);
  });

  test("float takes what fits in 32 bits", () => {
    const schema = { type: "number", format: "float" };
    assert.equal(fits(3.4e38, schema), true);
    assert.deepEqual(bodies(3.5e38, schema), [range("number", "with format float")]);
    assert.equal(fits(3.5e38, { type: "number", format: "double" }), true);
  });
});

describe("minimum and maximum", () => {
  const rows: readonly (readonly [schema: JsonObject, fit: readonly number[], fail: readonly number[]])[] = [
    [{ type: "integer", minimum: 5 }, [5, 6], [4]],
    [{ type: "integer", minimum: 5, exclusiveMinimum: true }, [6], [4, 5]],
    [{ type: "integer", maximum: 5 }, [4, 5], [6]],
    [{ type: "integer", maximum: 5, exclusiveMaximum: true }, [4], [5, 6]],
    [{ type: "number", minimum: 0.5 }, [0.5, 0.6], [0.4, -1]],
    [{ type: "number", maximum: 0.5, exclusiveMaximum: true }, [0.4], [0.5, 0.6]],
    [{ type: "integer", minimum: -3, maximum: -1 }, [-3, -2, -1], [-4, 0]],
    [{ type: "integer", minimum: 0, maximum: 0 }, [0], [1, -1]],
  ];
  for (const [schema, fit, fail] of rows) {
    test(JSON.stringify(schema), () => {
      assert.deepEqual(
        [...fit, ...fail].map((value) => fits(value, schema)),
        [...fit.map(() => true), ...fail.map(() => false)],
      );
    });
  }

  test("an exclusive limit alone has no effect", () => {
    assert.equal(fits(5, { exclusiveMinimum: true, exclusiveMaximum: true }), true);
  });

  test("integers beyond 2^53 are compared exactly", () => {
    assert.equal(fits(9007199254740993n, { type: "integer", maximum: 9007199254740992 }), false);
    assert.equal(fits(9007199254740991, { type: "integer", minimum: 9007199254740992 }), false);
  });

  test("the limit of a number is cut to an integer for an integer", () => {
    assert.equal(fits(2, { type: "number", minimum: 2.5 }), true);
    assert.equal(fits(3, { type: "number", maximum: 2.5 }), false);
    assert.deepEqual(bodies(3, { type: "number", maximum: 2.5 }), [
      "Invalid value: 3: should be less than or equal to 2",
    ]);
    assert.deepEqual(bodies(2.25, { type: "number", minimum: 2.5 }), [
      "Invalid value: 2.25: should be greater than or equal to 2.5",
    ]);
  });

  test("a limit that its type cannot hold is reported, and compared as a number", () => {
    assert.deepEqual(bodies(1, { type: "integer", minimum: 1.5 }), [
      'Invalid value: "": Minimum boundary value must be of type integer (default format) in ',
      "Invalid value: 1: should be greater than or equal to 1.5",
    ]);
  });
});

describe("multipleOf", () => {
  test("of an integer", () => {
    const schema = { type: "integer", multipleOf: 3 };
    assert.deepEqual(
      [0, 3, -3, 9, 4, -1].map((value) => fits(value, schema)),
      [true, true, true, true, false, false],
    );
  });

  test("of a number, allowing for its rounding", () => {
    const schema = { type: "number", multipleOf: 0.1 };
    assert.equal(fits(0.3, schema), true);
    assert.equal(fits(0.35, schema), false);
  });

  test("a factor that is not positive is itself wrong", () => {
    assert.deepEqual(bodies(4, { type: "integer", multipleOf: 0 }), [
      "Invalid value: 0: factor MultipleOf declared for  must be positive: 0",
    ]);
    assert.deepEqual(bodies(4, { type: "integer", multipleOf: -2 }), [
      "Invalid value: -2: factor MultipleOf declared for  must be positive: -2",
    ]);
  });
});

describe("a floating-point number as Go prints it", () => {
  const rows: readonly (readonly [number, string])[] = [
    [0, "0"],
    [1.5, "1.5"],
    [-2.25, "-2.25"],
    [123456, "123456"],
    [999999, "999999"],
    [1000000, "1e+06"],
    [1234567.5, "1.2345675e+06"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [1e21, "1e+21"],
    [1e100, "1e+100"],
    [5e-324, "5e-324"],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "+Inf"],
    [Number.NEGATIVE_INFINITY, "-Inf"],
  ];
  for (const [value, is] of rows) test(is, () => assert.equal(goFloat(value), is));
});
