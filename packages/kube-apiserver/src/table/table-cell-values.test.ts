// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "@purlin/kube-objects/json";
import { at, count, items, labelText, number, selectorText, text } from "./table.ts";

const object = { a: { b: "c", n: 5, nothing: null, list: [{ x: 1 }, 2, { y: 2 }] }, labels: { b: "2", a: "1" } };

test("members of members, and what is not there", () => {
  assert.equal(at(object, "a", "b"), "c");
  assert.equal(at(object, "a", "nothing"), undefined);
  assert.equal(at(object, "a", "b", "deeper"), undefined);
  assert.equal(at(undefined, "a"), undefined);
  assert.equal(at(object, "constructor"), undefined);
  assert.deepEqual([text(object, "a", "b"), text(object, "a", "n"), text(object, "z")], ["c", "", ""]);
  assert.deepEqual([number(object, "a", "n"), number(object, "a", "b"), number(object, "z")], [5, 0, 0]);
  assert.deepEqual(items(object, "a", "list"), [{ x: 1 }, { y: 2 }]);
  assert.deepEqual(items(object, "a"), []);
  assert.deepEqual([count(object, "a", "list"), count(object, "labels"), count(object, "a", "b")], [3, 2, 0]);
});

const labels: Record<string, { reason: string; value: JsonValue | undefined; want: string }> = {
  Sorted: { reason: "by key", value: { b: "2", a: "1" }, want: "a=1,b=2" },
  Empty: { reason: "no labels", value: {}, want: "<none>" },
  None: { reason: "nor a map", value: undefined, want: "<none>" },
};

for (const [name, { reason, value, want }] of Object.entries(labels)) {
  test(`labels as text: ${name}`, () => assert.equal(labelText(value), want, reason));
}

const selectors: Record<string, { reason: string; value: JsonValue | undefined; want: string }> = {
  Labels: { reason: "sorted", value: { matchLabels: { b: "2", a: "1" } }, want: "a=1,b=2" },
  In: {
    reason: "values sorted",
    value: { matchExpressions: [{ key: "k", operator: "In", values: ["y", "x"] }] },
    want: "k in (x,y)",
  },
  NotIn: {
    reason: "not one of",
    value: { matchExpressions: [{ key: "k", operator: "NotIn", values: ["x"] }] },
    want: "k notin (x)",
  },
  Exists: { reason: "the key alone", value: { matchExpressions: [{ key: "k", operator: "Exists" }] }, want: "k" },
  DoesNotExist: {
    reason: "without it",
    value: { matchExpressions: [{ key: "k", operator: "DoesNotExist" }] },
    want: "!k",
  },
  Both: {
    reason: "labels first",
    value: { matchLabels: { a: "1" }, matchExpressions: [{ key: "k", operator: "Exists" }] },
    want: "a=1,k",
  },
  Empty: { reason: "selects everything, shows nothing", value: {}, want: "<none>" },
  None: { reason: "no selector", value: undefined, want: "<none>" },
};

for (const [name, { reason, value, want }] of Object.entries(selectors)) {
  test(`a selector as text: ${name}`, () => assert.equal(selectorText(value), want, reason));
}
