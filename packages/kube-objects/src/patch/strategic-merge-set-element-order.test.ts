// SPDX-License-Identifier: Apache-2.0
// `$setElementOrder/<list>`: which items of a merged list stand where, and which orders are refused.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { applyStrategicMergePatch } from "./strategic-merge.ts";

const item: JsonObject = { type: "object", properties: { name: { type: "string" }, v: { type: "integer" } } };
const schema: JsonObject = {
  type: "object",
  properties: {
    items: {
      type: "array",
      items: item,
      "x-kubernetes-patch-strategy": "merge",
      "x-kubernetes-patch-merge-key": "name",
    },
    finalizers: { type: "array", items: { type: "string" }, "x-kubernetes-patch-strategy": "merge" },
    args: { type: "array", items: { type: "string" } },
    loose: { type: "array", items: { type: "object" }, "x-kubernetes-patch-strategy": "merge" },
    nested: {
      type: "object",
      properties: { list: { type: "array", items: { type: "string" }, "x-kubernetes-patch-strategy": "merge" } },
    },
  },
};

const patched = (original: JsonObject, patch: JsonObject): JsonObject =>
  applyStrategicMergePatch(deepFreeze(original), deepFreeze(patch), { schema, component: () => undefined });
const named = (names: string): JsonObject[] => [...names].map((name) => ({ name }));
const namesOf = (list: JsonValue | undefined): string =>
  (list as readonly JsonObject[]).map(({ name }) => String(name)).join("");

/** The names of the items after a patch with an order, each name a letter. */
const order = (original: string, patch: string, wanted: string): string =>
  namesOf(
    patched({ items: named(original) }, { items: named(patch), "$setElementOrder/items": named(wanted) })["items"],
  );

describe("the order of items with a merge key", () => {
  const rows: readonly {
    readonly why: string;
    readonly original: string;
    readonly patch: string;
    readonly wanted: string;
    readonly is: string;
  }[] = [
    { why: "all items are named", original: "abc", patch: "", wanted: "cba", is: "cba" },
    { why: "items that are not named keep their places", original: "abc", patch: "", wanted: "ca", is: "bca" },
    { why: "a new item stands where the order puts it", original: "ab", patch: "n", wanted: "anb", is: "anb" },
    { why: "a new item first", original: "ab", patch: "n", wanted: "nab", is: "nab" },
    { why: "two new items", original: "ab", patch: "nm", wanted: "nabm", is: "nabm" },
    { why: "names of items that do not exist are passed over", original: "ab", patch: "", wanted: "bxa", is: "ba" },
    { why: "an item that the server added since stays", original: "abs", patch: "n", wanted: "anb", is: "anbs" },
    { why: "an empty order changes nothing", original: "ab", patch: "", wanted: "", is: "ab" },
  ];
  for (const { why, original, patch, wanted, is } of rows) {
    test(why, () => assert.equal(order(original, patch, wanted), is));
  }

  test("items are merged as without an order", () => {
    const result = patched(
      { items: [{ name: "a", v: 1 }, { name: "b" }] },
      { items: [{ name: "a", v: 2 }], "$setElementOrder/items": [{ name: "b" }, { name: "a" }] },
    );
    assert.deepEqual(result, { items: [{ name: "b" }, { name: "a", v: 2 }] });
  });

  test("a deleted item need not be in the order", () => {
    const result = patched(
      { items: named("abc") },
      { items: [{ $patch: "delete", name: "b" }], "$setElementOrder/items": named("ca") },
    );
    assert.equal(namesOf(result["items"]), "ca");
  });

  test("only the merge key of an entry counts", () => {
    const result = patched(
      { items: [{ name: "a", v: 1 }, { name: "b" }] },
      { "$setElementOrder/items": [{ name: "b", v: 9 }, { name: "a" }] },
    );
    assert.deepEqual(result, { items: [{ name: "b" }, { name: "a", v: 1 }] });
  });

  test("the directive does not stay in the object", () => {
    assert.deepEqual(Object.keys(patched({ items: named("ab") }, { "$setElementOrder/items": named("ba") })), [
      "items",
    ]);
  });
});

describe("other lists", () => {
  test("scalars that are merged are ordered by value", () => {
    const result = patched(
      { finalizers: ["a", "b"] },
      { finalizers: ["n"], "$setElementOrder/finalizers": ["b", "n", "a"] },
    );
    assert.deepEqual(result, { finalizers: ["b", "n", "a"] });
  });

  test("a list that is replaced is replaced and then ordered", () => {
    const result = patched({ args: ["a", "b"] }, { args: ["x", "y"], "$setElementOrder/args": ["x", "y"] });
    assert.deepEqual(result, { args: ["x", "y"] });
  });

  test("a list that the object does not have is that of the patch", () => {
    const result = patched({}, { items: named("ab"), "$setElementOrder/items": named("ab") });
    assert.deepEqual(result, { items: named("ab") });
  });

  test("an order of a list that neither side has is left out", () => {
    assert.deepEqual(patched({}, { "$setElementOrder/items": named("ab") }), {});
  });

  test("a list inside an object", () => {
    const result = patched({ nested: { list: ["a", "b"] } }, { nested: { "$setElementOrder/list": ["b", "a"] } });
    assert.deepEqual(result, { nested: { list: ["b", "a"] } });
  });

  test("orders of several lists", () => {
    const result = patched(
      { items: named("ab"), finalizers: ["x", "y"] },
      { "$setElementOrder/items": named("ba"), "$setElementOrder/finalizers": ["y", "x"] },
    );
    assert.deepEqual(result, { items: named("ba"), finalizers: ["y", "x"] });
  });
});

describe("orders that are refused", () => {
  const rows: Readonly<
    Record<string, { readonly original?: JsonObject; readonly patch: JsonObject; readonly text: string }>
  > = {
    "items of the patch in another sequence": {
      original: { items: named("ab") },
      patch: { items: named("nm"), "$setElementOrder/items": named("mn") },
      text: "The order in patch list:\n[map[name:n] map[name:m]]\n doesn't match $setElementOrder list:\n[map[name:m] map[name:n]]\n",
    },
    "an item of the patch that is not in the order": {
      original: { items: named("ab") },
      patch: { items: named("n"), "$setElementOrder/items": named("ab") },
      text: "The order in patch list:\n[map[name:n]]\n doesn't match $setElementOrder list:\n[map[name:a] map[name:b]]\n",
    },
    "an entry without the merge key": {
      original: { items: named("ab") },
      patch: { items: named("a"), "$setElementOrder/items": [{ v: 1 }] },
      text: "map: map[v:1] does not contain declared merge key: name",
    },
    "an order that is not a list": {
      patch: { "$setElementOrder/items": { name: "a" } },
      text: "expected a []interface {}, but received a map[string]interface {}",
    },
    "a list that is not one": {
      original: { items: "text" },
      patch: { "$setElementOrder/items": named("a") },
      text: "expected a []interface {}, but received a string",
    },
    "a directive without the name of a list": {
      patch: { $setElementOrder: [] },
      text: "invalid patch format of setElementOrder list",
    },
    "a directive with another beginning": {
      patch: { "$setElementOrderX/items": [] },
      text: "invalid patch format of setElementOrder list",
    },
    "a field that does not exist": {
      patch: { "$setElementOrder/nope": [] },
      text: 'unable to find api field in struct  for the json field "nope"',
    },
  };
  for (const [name, { original = {}, patch, text }] of Object.entries(rows)) {
    test(name, () => assert.throws(() => patched(original, patch), { message: text }));
  }

  test("neither object is changed", () => {
    const original = { items: named("ab") };
    const patch = { items: named("n"), "$setElementOrder/items": named("nab") };
    patched(original, patch);
    assert.deepEqual([original, Object.keys(patch)], [{ items: named("ab") }, ["items", "$setElementOrder/items"]]);
  });
});
