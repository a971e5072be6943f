// SPDX-License-Identifier: Apache-2.0
// Merging without ownership, as a mutating admission policy does. typed-values.test.ts has the merge of each kind of type.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { customResourceType } from "./apply-schema.ts";
import { mergeUnowned, mergeValues } from "./typed-merge.ts";

const item = { type: "object", properties: { name: { type: "string" }, value: { type: "string" } } };
const type = customResourceType({
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        n: { type: "integer" },
        items: { type: "array", items: item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
        whole: { type: "array", items: { type: "string" } },
        atomic: { type: "object", "x-kubernetes-map-type": "atomic", properties: { a: { type: "string" } } },
        tags: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
      },
    },
  },
});
const object = (spec: JsonObject): JsonObject =>
  deepFreeze({ apiVersion: "x.org/v1", kind: "Thing", spec }) as JsonObject;
const merged = (live: JsonObject, patch: JsonObject): unknown =>
  mergeUnowned(type, object(live), object(patch))["spec"];

test("a patch wins on leaves, and what it does not mention stays", () => {
  assert.deepEqual(merged({ n: 1, tags: ["a"] }, { n: 2 }), { n: 2, tags: ["a"] });
  assert.deepEqual(merged({ n: 1 }, {}), { n: 1 });
});

test("items are merged by their keys, values of sets are added", () => {
  const live = { items: [{ name: "a", value: "1" }, { name: "b" }], tags: ["x", "y"] };
  assert.deepEqual(merged(live, { items: [{ name: "b", value: "2" }, { name: "c" }], tags: ["y", "z"] }), {
    items: [{ name: "a", value: "1" }, { name: "b", value: "2" }, { name: "c" }],
    tags: ["x", "y", "z"],
  });
});

test("the order of shared items is that of the patch", () => {
  const names = (...list: string[]): JsonObject => ({ items: list.map((name) => ({ name })) });
  assert.deepEqual(merged(names("a", "b", "c"), names("c", "a")), names("b", "c", "a"));
  assert.deepEqual(merged(names("a", "b"), names("new", "b")), names("a", "new", "b"));
});

test("a patch that changes nothing returns the object itself", () => {
  const live = object({ n: 1, items: [{ name: "a", value: "1" }], tags: ["x"] });
  assert.equal(mergeUnowned(type, live, object({ items: [{ name: "a" }], tags: ["x"] })), live);
  assert.equal(mergeValues(type, live, live), live);
});

test("a patch with lists or maps that are owned as a whole is refused, with all of their paths", () => {
  assert.throws(() => merged({}, { whole: ["a"], atomic: { a: "x" } }), {
    message: "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.atomic, .spec.whole",
  });
});

test("a patch or an object that is not of the type is refused", () => {
  assert.throws(() => merged({}, { none: 1 }), {
    message: "failed to convert patch object to typed object: .spec.none: field not declared in schema",
  });
  assert.throws(() => merged({ n: "x" }, {}), {
    message: "failed to convert original object to typed object: .spec.n: expected numeric (int or float), got string",
  });
  assert.throws(() => merged({}, { tags: ["a", "a"] }), {
    message: 'failed to convert patch object to typed object: .spec.tags: duplicate entries for key [="a"]',
  });
  assert.deepEqual(
    merged({ tags: ["a", "a"], n: 1 }, { n: 2 }),
    { tags: ["a", "a"], n: 2 },
    "the object may have duplicates",
  );
});
