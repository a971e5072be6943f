// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonValue } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { PatchDocument, type Place } from "./patch-document.ts";

const document = (): PatchDocument =>
  new PatchDocument(deepFreeze({ a: { b: [1, { c: 2 }] }, "x/y~z": 0, "": 9 }) as unknown as JsonValue);
const at = (from: PatchDocument, pointer: string): Place => finish(from.find(pointer)) ?? assert.fail(pointer);
const valueAt = (pointer: string): JsonValue | undefined => {
  const from = document();
  return from.get(at(from, pointer));
};

test("pointers lead to members and items", () => {
  assert.deepEqual(valueAt("/a/b"), [1, { c: 2 }]);
  assert.equal(valueAt("/a/b/1/c"), 2);
  assert.equal(valueAt("/a/b/-2"), 1, "a negative position counts from the end");
  assert.equal(valueAt("/a/b/-1/c"), 2);
  assert.equal(valueAt("/x~1y~0z"), 0);
  assert.equal(valueAt("/"), 9, "the member without a name");
  assert.equal(valueAt("ignored/a/b/0"), 1, "what is before the first slash is ignored");
  assert.equal(valueAt("/none"), undefined);
  assert.equal(valueAt("/toString"), undefined);
});

test("a place below something that is missing, or neither object nor list, is not found", () => {
  const from = document();
  for (const pointer of ["", "/none/a", "/a/b/0/c", "/a/b/7/c", "/a/b/x/c", "/toString/a"]) {
    assert.equal(finish(from.find(pointer)), undefined, pointer);
  }
  assert.equal(finish(new PatchDocument(1).find("/a")), undefined);
});

test("changes do not touch the value that the document starts with", () => {
  const original = deepFreeze({ a: { b: 1 }, kept: {} });
  const changed = new PatchDocument(original);
  changed.set(at(changed, "/a/b"), 2);
  assert.deepEqual(changed.value, { a: { b: 2 }, kept: {} });
  assert.deepEqual(original.a, { b: 1 });
  assert.equal((changed.value as typeof original).kept, original.kept, "what no operation goes into is shared");
});

test("a container is copied once", () => {
  const from = document();
  const first = at(from, "/a/b/0").container;
  assert.equal(at(from, "/a/b/1").container, first);
  assert.ok(from.isOpened(first));
  assert.ok(!document().isOpened(first));
});

test("values are set at members and existing items", () => {
  const from = document();
  from.set(at(from, "/new"), 1);
  from.set(at(from, "/a/b/-1"), 3);
  assert.deepEqual(from.value, { a: { b: [1, 3] }, "x/y~z": 0, "": 9, new: 1 });
  assert.throws(() => from.set(at(from, "/a/b/2"), 1), { message: "position 2 is not in the list" });
  assert.throws(() => from.set(at(from, "/a/b/-"), 1), { message: '"-" is not a position in a list' });
});

test("items are added before others, at the end, or after the last", () => {
  const from = new PatchDocument([1, 2]);
  from.add(at(from, "/0"), 0);
  from.add(at(from, "/3"), 3);
  from.add(at(from, "/-"), 4);
  from.add(at(from, "/-1"), 3.5);
  assert.deepEqual(from.value, [0, 1, 2, 3, 4, 3.5]);
  assert.throws(() => from.add(at(from, "/7"), 0), { message: "position 7 is not in the list" });
  assert.throws(() => from.add(at(from, "/x"), 0), { message: '"x" is not a position in a list' });
});

test("members and items are removed where they exist", () => {
  const from = document();
  from.remove(at(from, "/a/b/0"));
  from.remove(at(from, "/x~1y~0z"));
  assert.deepEqual(from.value, { a: { b: [{ c: 2 }] }, "": 9 });
  assert.throws(() => from.remove(at(from, "/none")), { message: 'unable to remove nonexistent key "none"' });
  assert.throws(() => from.remove(at(from, "/a/b/1")), { message: "position 1 is not in the list" });
  assert.throws(() => from.get(at(from, "/a/b/-2")), { message: "position -2 is not in the list" });
});

test("a member called __proto__ is a member", () => {
  const from = new PatchDocument({});
  from.add(at(from, "/__proto__"), { polluted: true });
  assert.deepEqual(Object.keys(from.value as object), ["__proto__"]);
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});

test("the document can become another value", () => {
  const from = document();
  from.reset([1]);
  assert.deepEqual(from.value, [1]);
  from.remove(at(from, "/0"));
  assert.deepEqual(from.value, []);
});

test("operations that move too many items are refused", () => {
  const from = new PatchDocument(Array.from({ length: 1_000_000 }, () => 0));
  const place = at(from, "/0");
  assert.throws(
    () => {
      for (let count = 0; count < 60; count++) from.add(place, 1);
    },
    { message: "the operations move too many list items: send a smaller patch" },
  );
});
