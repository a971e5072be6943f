// SPDX-License-Identifier: Apache-2.0
// Conversions of values, each from every type.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { showValue } from "../../test/expressions.ts";
import { ArrayList, EntryMap } from "./collections.ts";
import {
  durationSeconds,
  toBool,
  toBytes,
  toDouble,
  toDuration,
  toInt,
  toText,
  toTimestamp,
  toType,
  toUint,
} from "./convert.ts";
import { Duration, Timestamp } from "./time-values.ts";
import { CelError, none, TypeValue, Uint, type Value } from "./value.ts";

const cannot = (from: string, to: string): string => `ERR type conversion error from '${from}' to '${to}'`;

/** A value of each type that few conversions take, with the name of its type. */
const others: readonly (readonly [Value, string])[] = [
  [null, "null_type"],
  [new ArrayList([]), "list(dyn)"],
  [new EntryMap([]), "map(dyn, dyn)"],
  [none, "optional_type"],
  [new TypeValue("int"), "type"],
];

interface Conversion {
  readonly name: string;
  readonly convert: (value: Value) => Value;
  readonly rows: readonly (readonly [Value, string])[];
  /** Types of {@link others} that are converted. */
  readonly takes?: readonly string[];
}

const conversions: readonly Conversion[] = [
  {
    name: "int",
    convert: toInt,
    rows: [
      [5n, "5"],
      [-1.9, "-1"],
      [1.9, "1"],
      [2 ** 63, "ERR integer overflow"],
      [-(2 ** 63), "ERR integer overflow"],
      [Number.NaN, "ERR integer overflow"],
      [new Uint(2n ** 63n - 1n), "9223372036854775807"],
      [new Uint(2n ** 63n), "ERR integer overflow"],
      ["-9223372036854775808", "-9223372036854775808"],
      ["9223372036854775808", cannot("string", "int")],
      ["0x10", cannot("string", "int")],
      ["", cannot("string", "int")],
      ["+5", "5"],
      [" 5", cannot("string", "int")],
      [`${"0".repeat(100)}7`, "7"],
      [true, cannot("bool", "int")],
      [new Duration(1_500_000_000n), "1500000000"],
      [new Timestamp(7, 999_999_999), "7"],
      [Buffer.from("1"), cannot("bytes", "int")],
    ],
  },
  {
    name: "uint",
    convert: toUint,
    rows: [
      [5n, "5u"],
      [-1n, "ERR unsigned integer overflow"],
      [1.9, "1u"],
      [-0.5, "ERR unsigned integer overflow"],
      [2 ** 64, "ERR unsigned integer overflow"],
      ["18446744073709551615", "18446744073709551615u"],
      ["18446744073709551616", cannot("string", "uint")],
      ["-1", cannot("string", "uint")],
      ["+1", cannot("string", "uint")],
      [false, cannot("bool", "uint")],
      [new Duration(1n), cannot("google.protobuf.Duration", "uint")],
    ],
  },
  {
    name: "double",
    convert: toDouble,
    rows: [
      [5n, "double 5"],
      [new Uint(5n), "double 5"],
      ["1.5", "double 1.5"],
      [".5", "double 0.5"],
      ["5.", "double 5"],
      ["1e3", "double 1000"],
      ["-1E-3", "double -0.001"],
      ["inf", "double +Inf"],
      ["-Infinity", "double -Inf"],
      ["NaN", "double NaN"],
      ["+NaN", cannot("string", "double")],
      ["0x1p4", "double 16"],
      ["-0x1.8p1", "double -3"],
      ["0x10", cannot("string", "double")],
      ["1_000", "double 1000"],
      ["_1", cannot("string", "double")],
      ["1__0", cannot("string", "double")],
      ["1e999", cannot("string", "double")],
      ["1 ", cannot("string", "double")],
      ["", cannot("string", "double")],
      [true, cannot("bool", "double")],
    ],
  },
  {
    name: "bool",
    convert: toBool,
    rows: [
      [true, "true"],
      ["true", "true"],
      ["T", "true"],
      ["1", "true"],
      ["False", "false"],
      ["f", "false"],
      ["0", "false"],
      ["yes", cannot("string", "bool")],
      ["tRUE", cannot("string", "bool")],
      [1n, cannot("int", "bool")],
    ],
  },
  {
    name: "string",
    convert: toText,
    takes: ["null_type", "type"],
    rows: [
      ["a", '"a"'],
      [5n, '"5"'],
      [new Uint(5n), '"5"'],
      [1.5, '"1.5"'],
      [true, '"true"'],
      [null, '"null"'],
      [new TypeValue("int"), '"int"'],
      [Buffer.from("é"), '"é"'],
      [Buffer.from([0xff]), "ERR invalid UTF-8 in bytes, cannot convert to string"],
      [new Duration(1_500_000_000n), '"1.5s"'],
      [new Timestamp(0, 0, 3600), '"1970-01-01T01:00:00+01:00"'],
    ],
  },
  {
    name: "bytes",
    convert: toBytes,
    rows: [
      ["é", "bc3a9"],
      ["", "b"],
      [Buffer.from("a"), "b61"],
      [5n, cannot("int", "bytes")],
    ],
  },
  {
    name: "google.protobuf.Duration",
    convert: toDuration,
    rows: [
      ["1h", "duration 3600000000000"],
      [new Duration(5n), "duration 5"],
      ["1d", cannot("string", "google.protobuf.Duration")],
      [5n, cannot("int", "google.protobuf.Duration")],
    ],
  },
  {
    name: "google.protobuf.Timestamp",
    convert: toTimestamp,
    rows: [
      [0n, "timestamp 1970-01-01T00:00:00Z"],
      [253402300799n, "timestamp 9999-12-31T23:59:59Z"],
      [253402300800n, "ERR timestamp overflow"],
      ["2020-01-01T00:00:00+02:00", "timestamp 2020-01-01T00:00:00+02:00"],
      ["0001-01-01T00:00:00+01:00", "ERR timestamp overflow"],
      ["2020-01-01", cannot("string", "google.protobuf.Timestamp")],
      [1.5, cannot("double", "google.protobuf.Timestamp")],
    ],
  },
];

for (const { name, convert, rows, takes = [] } of conversions) {
  describe(`conversion to ${name}`, () => {
    for (const [value, is] of rows) {
      test(`of ${showValue(value)} is ${is}`, () => assert.equal(showValue(convert(value)), is));
    }

    for (const [value, type] of others.filter(([, one]) => !takes.includes(one))) {
      test(`of a ${type} fails`, () => assert.equal(showValue(convert(value)), cannot(type, name)));
    }

    test("of an error is the error", () => {
      const error = new CelError("boom");
      assert.equal(convert(error), error);
    });
  });
}

describe("the type of a value", () => {
  const rows: readonly (readonly [Value, string])[] = [
    [1n, "int"],
    [new Uint(1n), "uint"],
    [1, "double"],
    ["a", "string"],
    [Buffer.from("a"), "bytes"],
    [true, "bool"],
    [new Duration(1n), "google.protobuf.Duration"],
    [new Timestamp(0, 0), "google.protobuf.Timestamp"],
    [null, "null_type"],
    [new ArrayList([]), "list"],
    [new EntryMap([]), "map"],
    [none, "optional_type"],
    [new TypeValue("int"), "type"],
  ];
  for (const [value, name] of rows) test(name, () => assert.deepEqual(toType(value), new TypeValue(name)));
});

test("seconds of a duration lose the least", () => {
  assert.equal(durationSeconds(new Duration(1_500_000_000n)), 1.5);
  assert.equal(durationSeconds(new Duration(-1n)), -1e-9);
  assert.equal(durationSeconds(new Duration(2n ** 63n - 1n)), 9223372036.854776);
});
