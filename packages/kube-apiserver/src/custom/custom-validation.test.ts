// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { fieldErrorText, requiredValue } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { Endpoint } from "../strategy/object-strategy.ts";
import { type CustomRules, errorsOf, validateCustom } from "./custom-validation.ts";

const text = { type: "string" };
const rules: CustomRules = {
  schema: {
    type: "object",
    required: ["spec"],
    properties: {
      spec: { type: "object", properties: { a: { type: "string", maxLength: 3 }, list: setOf(text) } },
      status: {
        type: "object",
        required: ["phase"],
        properties: { phase: text, count: { type: "integer" }, list: setOf(text) },
      },
    },
  },
  scale: undefined,
  runRules: undefined,
};

function setOf(items: JsonObject): JsonObject {
  return { type: "array", "x-kubernetes-list-type": "set", items };
}

interface Case {
  readonly object: JsonObject;
  readonly old?: JsonObject;
  readonly endpoint?: Endpoint;
  readonly want: readonly string[];
  readonly reason: string;
}

const cases: Readonly<Record<string, Case>> = {
  New: {
    reason: "everything is looked at",
    object: { spec: { a: "long" }, status: { phase: 1 } },
    want: [
      "spec.a: Too long: may not be more than 3 bytes",
      'status.phase: Invalid value: "integer": status.phase in body must be of type string: "integer"',
    ],
  },
  Unchanged: {
    reason: "an update is not blamed for what was there",
    object: { spec: { a: "long" }, status: { phase: 1 } },
    old: { spec: { a: "long" }, status: { phase: 2 } },
    want: ['status.phase: Invalid value: "integer": status.phase in body must be of type string: "integer"'],
  },
  Status: {
    reason: "the status is an object of its own in messages, and nothing else is looked at",
    object: { spec: { a: "long" }, status: { phase: 1 } },
    old: { spec: {}, status: {} },
    endpoint: "status",
    want: ['status.phase: Invalid value: "integer": phase in body must be of type string: "integer"'],
  },
  StatusItself: {
    reason: "its place is the root of its schema",
    object: { status: "x" },
    old: {},
    endpoint: "status",
    want: ['status: Invalid value: "string":  in body must be of type object: "string"'],
  },
  StatusFraction: {
    reason: "what has no field has the status",
    object: { status: { phase: "", count: 1.5 } },
    old: {},
    endpoint: "status",
    want: [
      'status.count: Invalid value: "number": count in body must be of type integer: "number"',
      'status: Invalid value: "": Checked value must be of type integer (default format) in count',
    ],
  },
  StatusUnchanged: {
    reason: "what was missing before is forgiven in the status too",
    object: { status: { count: 1 } },
    old: { status: { count: 1 } },
    endpoint: "status",
    want: [],
  },
  NoStatus: { reason: "nothing is missing in what is not there", object: {}, old: {}, endpoint: "status", want: [] },
  Twice: {
    reason: "a set has each item once",
    object: { spec: { list: ["a", "a"] } },
    want: ['spec.list[1]: Duplicate value: "a"'],
  },
  TwiceBefore: {
    reason: "lists that were wrong may stay so, whichever they are",
    object: { spec: { list: ["a", "a", "b"] } },
    old: { spec: {}, status: { list: ["x", "x"] } },
    want: [],
  },
};

for (const [name, { object, old, endpoint = "", want, reason }] of Object.entries(cases)) {
  test(`validation of custom objects: ${name}`, () => {
    const { shape } = finish(validateCustom({ object, old, endpoint }, rules));
    assert.deepEqual(shape.map(fieldErrorText), want, reason);
  });
}

const ruled: CustomRules = {
  ...rules,
  *runRules() {
    yield;
    return { errors: [requiredValue("rule")], unchanged: [] };
  },
};
const notChecked =
  "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

test("rules are run on objects of the right shape only, metadata included", () => {
  const errors = (object: JsonObject, metadata: Parameters<typeof errorsOf>[1] = []): string[] =>
    errorsOf(finish(validateCustom({ object, old: undefined, endpoint: "" }, ruled)), metadata).map(fieldErrorText);
  assert.deepEqual(errors({ spec: {} }), ["rule: Required value"]);
  assert.deepEqual(errors({}), ["spec: Required value", notChecked]);
  assert.deepEqual(errors({ spec: {} }, [requiredValue("metadata.name")]), [notChecked]);
});

test("without rules no error says that they were not checked", () => {
  const findings = finish(validateCustom({ object: {}, old: undefined, endpoint: "" }, rules));
  assert.deepEqual(errorsOf(findings, []).map(fieldErrorText), ["spec: Required value"]);
});
