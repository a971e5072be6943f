// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonValue } from "../json/json-value.ts";
import { jsonPath } from "./json-path.ts";

function find(path: string, object: JsonValue, most?: number): readonly JsonValue[] | undefined {
  const found = jsonPath(path)?.(object, most);
  return found && finish(found);
}

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
    for (const _ of ["compiled", "known"]) assert.deepEqual(find(path, object), want, reason);
  });
}

for (const path of [".a[", ".a[x]", ".a[]", ".a[?(@.b=~'x')]", "{.a}["]) {
  test(`"${path}" is not a path`, () => assert.equal(jsonPath(path), undefined));
}

test("paths that were not used for a while are evicted", () => {
  for (let i = 0; i < 6000; i++) jsonPath(`.spec.p${i}`);
  assert.deepEqual(find(".spec.replicas", object), [3]);
});

test("a path that finds the same values over and over ends without a value", () => {
  let nested: JsonValue = "leaf";
  for (let depth = 0; depth < 40; depth++) nested = { a: nested };
  assert.deepEqual(find(`.${"..a".repeat(40)}`, nested), []);
});

test("a member that is undefined is skipped, and those after it are found", () => {
  const members = { a: 1, b: undefined, c: { d: 2 } } as unknown as JsonValue;
  assert.deepEqual(find(".*", members), [1, { d: 2 }]);
  assert.deepEqual(find("..d", members), [2]);
});

const long = Array.from({ length: 45_000 }, (_, i) => ({ name: `n${i}`, list: i === 9 ? [] : [i] }));

test("a path through a long list finds all values", () => {
  assert.equal(find("[*].name", long)?.length, 45_000);
  assert.equal(find("..name", long)?.length, 45_000);
  assert.deepEqual(find("[?(@.name=='n44999')].name", long), ["n44999"]);
});

test("the first values are as many as asked for, and none if another one cannot be found", () => {
  assert.deepEqual(find("[*].name", long, 1), ["n0"]);
  assert.deepEqual(find("..name", long, 2), ["n0", "n1"]);
  assert.deepEqual(find("[*].list[0]", long, 1), [], "an index is out of bounds in another item");
  assert.deepEqual(find("[?(@.list[0]==0)].name", long, 1), []);
});

for (const path of [
  `[${"0:,".repeat(2_000)}0:]`,
  "[?($..name=='x')]",
  "[?(@.name)][?($..name)]",
  `${"..".repeat(30)}x`,
]) {
  test(`a path that looks at long lists again and again ends without a value: ${path.slice(0, 30)}`, () => {
    assert.deepEqual(find(path, long), []);
  });
}

test("a long filter is parsed in linear time", () => {
  // With a quadratic expression this takes minutes.
  assert.equal(jsonPath(`[?(@.a${" ".repeat(500_000)}`), undefined);
  assert.deepEqual(find(`[?(@.a${" ".repeat(500_000)})]`, [{ a: 1 }]), [{ a: 1 }]);
});
