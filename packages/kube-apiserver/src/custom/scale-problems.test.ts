// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { scaleSpecProblems, scaleStatusProblems } from "./scale-problems.ts";

const fields = { specReplicas: ".spec.replicas", statusReplicas: ".status.replicas", selector: ".status.selector" };
const spec = (replicas: JsonValue): JsonObject => ({ spec: { replicas } });

const specCases: Readonly<Record<string, { object: JsonObject; want?: string; reason: string }>> = {
  Absent: { object: { spec: {} }, reason: "missing replicas are valid" },
  NoSpec: { object: {}, reason: "nor is an object without a spec" },
  NullSpec: { object: { spec: null }, reason: "null is as good as absent on the way" },
  Zero: { object: spec(0), reason: "zero is a count" },
  Largest: { object: spec(2147483647), reason: "the largest count a Scale can hold" },
  TooLarge: {
    object: spec(2147483648),
    want: "2147483648: should be less than or equal to 2147483647",
    reason: "a Scale cannot hold it",
  },
  Huge: {
    object: spec(9007199254740993n),
    want: "9007199254740993: should be less than or equal to 2147483647",
    reason: "beyond doubles too",
  },
  Negative: { object: spec(-1), want: "-1: should be a non-negative integer", reason: "a count is not negative" },
  Text: {
    object: spec("x"),
    want: "0: .spec.replicas accessor error: x is of the type string, expected int64",
    reason: "the path finds something else",
  },
  Fraction: {
    object: spec(1.5),
    want: "0: .spec.replicas accessor error: 1.5 is of the type float64, expected int64",
    reason: "not an integer",
  },
  Null: {
    object: spec(null),
    want: "0: .spec.replicas accessor error: <nil> is of the type <nil>, expected int64",
    reason: "at the end of the path null is a value",
  },
  Object: {
    object: spec({ b: [1, "x"], a: true }),
    want: "0: .spec.replicas accessor error: map[a:true b:[1 x]] is of the type map[string]interface {}, expected int64",
    reason: "printed as Go prints it",
  },
  NoWay: {
    object: { spec: "x" },
    want: "0: .spec.replicas accessor error: x is of the type string, expected map[string]interface{}",
    reason: "the path goes through what holds nothing",
  },
};

for (const [name, { object, want, reason }] of Object.entries(specCases)) {
  test(`replicas of a spec: ${name}`, () => {
    const texts = scaleSpecProblems(object, fields).map(fieldErrorText);
    assert.deepEqual(texts, want === undefined ? [] : [`.spec.replicas: Invalid value: ${want}`], reason);
  });
}

test("a status may have replicas and a selector, each of its type", () => {
  const problems = (status: JsonValue): string[] => scaleStatusProblems({ status }, fields).map(fieldErrorText);
  assert.deepEqual(problems({ replicas: 1, selector: "anything at all" }), []);
  assert.deepEqual(problems({}), []);
  assert.deepEqual(problems({ replicas: -1, selector: 7 }), [
    ".status.replicas: Invalid value: -1: should be a non-negative integer",
    '.status.selector: Invalid value: "": .status.selector accessor error: 7 is of the type int64, expected string',
  ]);
});

test("a kind without a selector has none to be wrong", () => {
  assert.deepEqual(scaleStatusProblems({ status: { selector: 7 } }, { ...fields, selector: undefined }), []);
});
