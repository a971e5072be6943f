// SPDX-License-Identifier: Apache-2.0
// The texts that clients of an API server read, rule by rule: field, then what is wrong with it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "../errors/field-error.ts";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { checkSchema } from "./check-schema.ts";

interface Row {
  readonly reason: string;
  readonly schema: JsonObject;
  readonly value: JsonValue;
  readonly want: readonly string[];
}

const list = (type: string, more: JsonObject = {}): JsonObject => ({
  type: "array",
  "x-kubernetes-list-type": type,
  ...more,
});

const rows: Record<string, Row> = {
  Type: {
    reason: "the actual type is the value, and quoted at the end",
    schema: { type: "string" },
    value: 5,
    want: ['spec.a: Invalid value: "integer": spec.a in body must be of type string: "integer"'],
  },
  Null: {
    reason: "null is a type too",
    schema: { type: "array" },
    value: null,
    want: ['spec.a: Invalid value: "null": spec.a in body must be of type array: "null"'],
  },
  IntOrString: {
    reason: "both types are named",
    schema: { "x-kubernetes-int-or-string": true },
    value: true,
    want: ['spec.a: Invalid value: "boolean": spec.a in body must be of type integer,string: "boolean"'],
  },
  Required: { reason: "no value to print", schema: { required: ["b"] }, value: {}, want: ["spec.a.b: Required value"] },
  Enum: {
    reason: "all supported values, quoted",
    schema: { enum: ["a", "b", 3] },
    value: "x",
    want: ['spec.a: Unsupported value: "x": supported values: "a", "b", "3"'],
  },
  Pattern: {
    reason: "the pattern between single quotes",
    schema: { pattern: "^a+$" },
    value: "x",
    want: ["spec.a: Invalid value: \"x\": spec.a in body should match '^a+$'"],
  },
  Minimum: {
    reason: "inclusive",
    schema: { type: "integer", minimum: 5 },
    value: 4,
    want: ["spec.a: Invalid value: 4: spec.a in body should be greater than or equal to 5"],
  },
  ExclusiveMinimum: {
    reason: "exclusive",
    schema: { type: "integer", minimum: 5, exclusiveMinimum: true },
    value: 5,
    want: ["spec.a: Invalid value: 5: spec.a in body should be greater than 5"],
  },
  Maximum: {
    reason: "inclusive",
    schema: { type: "number", maximum: 5.5 },
    value: 5.75,
    want: ["spec.a: Invalid value: 5.75: spec.a in body should be less than or equal to 5.5"],
  },
  ExclusiveMaximum: {
    reason: "exclusive",
    schema: { type: "integer", maximum: 5, exclusiveMaximum: true },
    value: 5,
    want: ["spec.a: Invalid value: 5: spec.a in body should be less than 5"],
  },
  MultipleOf: {
    reason: "the factor",
    schema: { type: "integer", multipleOf: 3 },
    value: 4,
    want: ["spec.a: Invalid value: 4: spec.a in body should be a multiple of 3"],
  },
  Range: {
    reason: "a value that its format cannot hold has no field",
    schema: { type: "integer", format: "int32" },
    value: 3_000_000_000,
    want: ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.a'],
  },
  MinLength: {
    reason: "in characters",
    schema: { minLength: 3 },
    value: "é",
    want: ['spec.a: Invalid value: "é": spec.a in body should be at least 3 chars long'],
  },
  MaxLength: {
    reason: "says bytes, counts characters",
    schema: { maxLength: 2 },
    value: "abc",
    want: ["spec.a: Too long: may not be more than 2 bytes"],
  },
  MinItems: {
    reason: "the number is the value",
    schema: { minItems: 2 },
    value: [1],
    want: ["spec.a: Invalid value: 1: spec.a in body should have at least 2 items"],
  },
  MaxItems: {
    reason: "too many",
    schema: { maxItems: 1 },
    value: [1, 2],
    want: ["spec.a: Too many: 2: must have at most 1 item"],
  },
  UniqueItems: {
    reason: "which ones is not said",
    schema: { uniqueItems: true },
    value: [1, 1],
    want: ['spec.a: Invalid value: "": spec.a in body shouldn\'t contain duplicates'],
  },
  MinProperties: {
    reason: "the number is the value",
    schema: { minProperties: 1 },
    value: {},
    want: ["spec.a: Invalid value: 0: spec.a in body should have at least 1 properties"],
  },
  MaxProperties: {
    reason: "counted as items",
    schema: { maxProperties: 0 },
    value: { b: 1 },
    want: ["spec.a: Too many: 1: must have at most 0 items"],
  },
  Format: {
    reason: "the format in place of the type",
    schema: { type: "string", format: "date" },
    value: "soon",
    want: ['spec.a: Invalid value: "soon": spec.a in body must be of type date: "soon"'],
  },
  AnyOf: {
    reason: "without a field, then what was wrong with the closest",
    schema: { anyOf: [{ type: "integer" }, { minLength: 5, type: "string" }] },
    value: "x",
    want: [
      '<nil>: Invalid value: "": "spec.a" must validate at least one schema (anyOf)',
      'spec.a: Invalid value: "x": spec.a in body should be at least 5 chars long',
    ],
  },
  OneOfNone: {
    reason: "none",
    schema: { oneOf: [{ required: ["x"] }] },
    value: {},
    want: [
      '<nil>: Invalid value: "": "spec.a" must validate one and only one schema (oneOf). Found none valid',
      "spec.a.x: Required value",
    ],
  },
  OneOfTwo: {
    reason: "too many",
    schema: { oneOf: [{ minimum: 1 }, { minimum: 0 }] },
    value: 2,
    want: [
      '<nil>: Invalid value: "": "spec.a" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
  },
  AllOf: {
    reason: "what was wrong, then that it was",
    schema: { allOf: [{ type: "integer", minimum: 3 }, { maximum: 9 }] },
    value: 2,
    want: [
      "spec.a: Invalid value: 2: spec.a in body should be greater than or equal to 3",
      '<nil>: Invalid value: "": "spec.a" must validate all the schemas (allOf)',
    ],
  },
  Not: {
    reason: "what must not be",
    schema: { not: { required: ["b"] } },
    value: { b: 1 },
    want: ['<nil>: Invalid value: "": "spec.a" must not validate the schema (not)'],
  },
  AdditionalProperties: {
    reason: "the key is the value, the object the field",
    schema: { additionalProperties: false },
    value: { b: 1 },
    want: ['spec.a: Invalid value: "b": spec.a.b in body is a forbidden property'],
  },
  MapValue: {
    reason: "keys of maps follow a dot here",
    schema: { additionalProperties: { type: "integer" } },
    value: { k: "v" },
    want: ['spec.a.k: Invalid value: "string": spec.a.k in body must be of type integer: "string"'],
  },
  Items: {
    reason: "items by index",
    schema: { items: { type: "object", required: ["b"] } },
    value: [{ b: 1 }, {}],
    want: ["spec.a[1].b: Required value"],
  },
  Set: {
    reason: "the second of two",
    schema: list("set", { items: { type: "string" } }),
    value: ["x", "y", "x"],
    want: ['spec.a[2]: Duplicate value: "x"'],
  },
  Map: {
    reason: "the keys of the second",
    schema: list("map", { "x-kubernetes-list-map-keys": ["name", "port"], items: { type: "object" } }),
    value: [
      { name: "x", port: 1 },
      { name: "x", port: 1, other: 2 },
    ],
    want: ['spec.a[1]: Duplicate value: {"name":"x","port":1}'],
  },
  MapInMap: {
    reason: "keys of maps are in brackets here",
    schema: { additionalProperties: list("set", { items: { type: "integer" } }) },
    value: { k: [1, 1] },
    want: ["spec.a[k][1]: Duplicate value: 1"],
  },
};

for (const [name, { reason, schema, value, want }] of Object.entries(rows)) {
  test(`text of ${name}: ${reason}`, () => {
    const root: JsonObject = { type: "object", properties: { spec: { type: "object", properties: { a: schema } } } };
    const found = checkSchema({ spec: { a: value } }, root);
    assert.deepEqual(
      found.map(({ field, body }) => fieldErrorText({ type: "FieldValueInvalid", field, body })),
      want,
    );
    for (const { path } of found) assert.match(path, /^spec\.a/);
  });
}
