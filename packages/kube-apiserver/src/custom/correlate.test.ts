// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { isUnchangedAt } from "./correlate.ts";

const schema: JsonObject = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        a: { type: "string" },
        map: { type: "object", additionalProperties: { type: "object", properties: { x: { type: "integer" } } } },
        keyed: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: { type: "object", properties: { name: { type: "string" }, v: { type: "integer" } } },
        },
        atomic: { type: "array", items: { type: "object" } },
      },
    },
  },
};
const before: JsonObject = {
  spec: {
    a: "x",
    map: { k: { x: 1 } },
    keyed: [
      { name: "one", v: 1 },
      { name: "two", v: 2 },
    ],
    atomic: [{ q: 1 }],
  },
};
const now: JsonObject = {
  spec: {
    a: "y",
    map: { k: { x: 1 }, n: { x: 2 } },
    keyed: [
      { name: "two", v: 2 },
      { name: "one", v: 9 },
    ],
    atomic: [{ q: 1 }],
  },
};

const rows: Record<string, { path: string; unchanged: boolean; reason: string }> = {
  ChangedField: { path: "spec.a", unchanged: false, reason: "the value is another" },
  MapKey: { path: "spec.map.k.x", unchanged: true, reason: "entries are found by key" },
  NewMapKey: { path: "spec.map.n.x", unchanged: false, reason: "there was none" },
  MovedItem: { path: "spec.keyed[0].v", unchanged: true, reason: "items are found by their keys, not their place" },
  ChangedItem: { path: "spec.keyed[1].v", unchanged: false, reason: "the item with that key has changed" },
  AtomicItem: { path: "spec.atomic[0].q", unchanged: true, reason: "the list as a whole is the same" },
  Missing: { path: "spec.none", unchanged: false, reason: "nothing is not unchanged" },
  Bracketed: { path: "spec.map[k].x", unchanged: true, reason: "both ways to write a key lead there" },
};
for (const [name, { path, unchanged, reason }] of Object.entries(rows)) {
  test(`unchanged: ${name}`, () => assert.equal(isUnchangedAt(path, { now, before, schema }), unchanged, reason));
}

test("an atomic list that changed anywhere has changed everywhere", () => {
  const changed = { spec: { ...(now["spec"] as JsonObject), atomic: [{ q: 1 }, { q: 2 }] } };
  assert.equal(isUnchangedAt("spec.atomic[0].q", { now: changed, before, schema }), false);
});

test("a finding about every item of a long list does not go through the list for each", () => {
  const items = (v: number): JsonObject[] => Array.from({ length: 20_000 }, (_, index) => ({ name: `n${index}`, v }));
  const [keyed, atomic] = [items(1).reverse(), items(1)];
  const [old, next] = [{ spec: { keyed: items(1), atomic: items(1) } }, { spec: { keyed, atomic } }];
  for (let index = 0; index < 20_000; index += 1) {
    assert.ok(isUnchangedAt(`spec.keyed[${index}].v`, { now: next, before: old, schema }));
    assert.ok(isUnchangedAt(`spec.atomic[${index}].v`, { now: next, before: old, schema }));
  }
});

test("of items with the same keys the first is the one there was", () => {
  const old = { spec: { keyed: [{ name: "one", v: 1 }, { name: "one", v: 2 }, { v: 3 }] } };
  const next = { spec: { keyed: [{ name: "one", v: 1 }, { v: 3 }, { name: null, v: 3 }] } };
  assert.ok(isUnchangedAt("spec.keyed[0].v", { now: next, before: old, schema }));
  assert.ok(isUnchangedAt("spec.keyed[1].v", { now: next, before: old, schema }), "a missing key is a key too");
  assert.ok(isUnchangedAt("spec.keyed[2].v", { now: next, before: old, schema }), "and null is as good as missing");
});
