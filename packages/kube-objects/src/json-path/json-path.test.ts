// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "../json/json-value.ts";
import { jsonPath } from "./json-path.ts";

const object = {
  spec: { replicas: 3, "a.b": { c: "dotted" }, list: [10, 20, 30], names: { x: 1, y: 2 } },
  status: {
    conditions: [
      { type: "Ready", status: "True", observed: 1, on: true },
      { type: "Synced", status: "False", observed: 2, on: false },
      { type: "Ready", status: "Unknown" },
    ],
  },
};

const found: Record<string, { reason: string; path: string; want: unknown[] }> = {
  Field: { reason: "a field of a field", path: ".spec.replicas", want: [3] },
  WithoutDot: { reason: "a path may leave its first dot out", path: "spec.replicas", want: [3] },
  Missing: { reason: "a missing member has no value", path: ".spec.missing.deeper", want: [] },
  Inherited: { reason: "inherited members of JavaScript objects are not fields", path: ".spec.constructor", want: [] },
  EscapedDot: { reason: "a dot that belongs to a name", path: ".spec.a\\.b.c", want: ["dotted"] },
  QuotedEscapedDot: { reason: "the same in quotes", path: ".spec['a\\.b'].c", want: ["dotted"] },
  QuotedDots: { reason: "dots in quotes separate too, as in the reference", path: ".spec['names.x']", want: [1] },
  Index: { reason: "from the front", path: ".spec.list[1]", want: [20] },
  NegativeIndex: { reason: "from the back", path: ".spec.list[-1]", want: [30] },
  IndexBeyond: { reason: "behind the last", path: ".spec.list[3]", want: [] },
  IndexOfNoList: { reason: "an object has no index", path: ".spec[0]", want: [] },
  AllItems: { reason: "every item", path: ".spec.list[*]", want: [10, 20, 30] },
  AllMembers: { reason: "every member", path: ".spec.names.*", want: [1, 2] },
  Filter: {
    reason: "those that match",
    path: '.status.conditions[?(@.type=="Ready")].status',
    want: ["True", "Unknown"],
  },
  FilterSingleQuotes: {
    reason: "either quotes",
    path: ".status.conditions[?(@.type=='Synced')].status",
    want: ["False"],
  },
  FilterNot: { reason: "those that do not", path: '.status.conditions[?(@.type!="Ready")].status', want: ["False"] },
  FilterNumber: { reason: "by a number", path: ".status.conditions[?(@.observed==2)].type", want: ["Synced"] },
  FilterBoolean: { reason: "by a boolean", path: ".status.conditions[?(@.on==true)].type", want: ["Ready"] },
  FilterMissing: {
    reason: "one without the field matches neither way",
    path: ".status.conditions[?(@.on!=true)].type",
    want: ["Synced"],
  },
  Slice: { reason: "a part of a list", path: ".spec.list[1:]", want: [20, 30] },
  Descend: { reason: "a field at any depth", path: ".spec..x", want: [1] },
  FilterExists: {
    reason: "items that have a field",
    path: ".status.conditions[?(@.on)].type",
    want: ["Ready", "Synced"],
  },
  FilterOfNoList: { reason: "only lists are filtered", path: '.spec[?(@.replicas=="3")]', want: [] },
};

for (const [name, { reason, path, want }] of Object.entries(found)) {
  test(`a path finds values: ${name}`, () => {
    for (const _ of ["compiled", "known"]) assert.deepEqual(jsonPath(path)?.(object), want, reason);
  });
}

for (const path of [".a[", ".a[x]", ".a[]", ".a[?(@.b=~'x')]", "{.a}["]) {
  test(`"${path}" is not a path`, () => assert.equal(jsonPath(path), undefined));
}

test("paths that were not used for a while are evicted", () => {
  for (let i = 0; i < 6000; i++) jsonPath(`.spec.p${i}`);
  assert.deepEqual(jsonPath(".spec.replicas")?.(object), [3]);
});

test("a path that finds the same values over and over ends without a value", () => {
  let nested: JsonValue = "leaf";
  for (let depth = 0; depth < 40; depth++) nested = { a: nested };
  assert.deepEqual(jsonPath(`.${"..a".repeat(40)}`)?.(nested), []);
});

test("a long filter is parsed in linear time", () => {
  // With a quadratic expression this takes minutes.
  assert.equal(jsonPath(`[?(@.a${" ".repeat(500_000)}`), undefined);
  assert.deepEqual(jsonPath(`[?(@.a${" ".repeat(500_000)})]`)?.([{ a: 1 }]), [{ a: 1 }]);
});
