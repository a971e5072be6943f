// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { componentClosure } from "./builtin-openapi.ts";

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const components = {
  d: { type: "string" },
  c: { items: ref("d") },
  b: { anyOf: [ref("b"), { not: ref("c") }] },
  a: { properties: { x: { allOf: [ref("b")] }, $ref: { type: "string" } } },
  other: { items: ref("a") },
};

test("everything referred to comes along, in the order of names, and nothing else", () => {
  assert.deepEqual(Object.keys(componentClosure(components, ["a"])), ["a", "b", "c", "d"]);
  assert.deepEqual(Object.keys(componentClosure(components, ["d", "c"])), ["c", "d"]);
  assert.equal(componentClosure(components, ["a"])["a"], components.a);
});

test("names that are not defined are left out", () => {
  assert.deepEqual(componentClosure({ a: ref("missing") }, ["a", "toString"]), { a: ref("missing") });
  assert.deepEqual(componentClosure(components, []), {});
});
