// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { overlaid } from "./context.ts";

const json = (text: string): JsonObject => JSON.parse(text) as JsonObject;

const rows: Readonly<Record<string, { reason: string; under: JsonObject; over: JsonObject; want: JsonObject }>> = {
  Empty: { reason: "nothing over something is that", under: { a: 1 }, over: {}, want: { a: 1 } },
  Differ: { reason: "the second counts", under: { a: 1, b: 1 }, over: { a: 2 }, want: { a: 2, b: 1 } },
  Deep: { reason: "at every depth", under: { a: { b: 1, c: 1 } }, over: { a: { b: 2 } }, want: { a: { b: 2, c: 1 } } },
  Lists: { reason: "lists are one thing", under: { a: [1, 2] }, over: { a: [3] }, want: { a: [3] } },
  Null: { reason: "null is a value", under: { a: { b: 1 } }, over: { a: null }, want: { a: null } },
  Inherited: {
    reason: "what every JavaScript object has is not in it",
    under: { a: 1 },
    over: json('{"constructor":{"b":1},"toString":"x"}'),
    want: json('{"a":1,"constructor":{"b":1},"toString":"x"}'),
  },
  Prototype: {
    reason: "a prototype is a member like any other",
    under: json('{"__proto__":{"a":1,"b":1}}'),
    over: json('{"__proto__":{"a":2}}'),
    want: json('{"__proto__":{"a":2,"b":1}}'),
  },
};

for (const [name, { reason, under, over, want }] of Object.entries(rows)) {
  test(`overlaid, ${name}: ${reason}`, () => {
    const merged = overlaid(under, over);
    assert.deepEqual(merged, want);
    assert.deepEqual(Object.keys(merged), Object.keys(want));
    assert.equal(Object.getPrototypeOf(merged), Object.prototype);
  });
}
