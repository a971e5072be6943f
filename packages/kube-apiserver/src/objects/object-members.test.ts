// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { deepFreeze } from "@purlin/kube-objects/object";
import { inStoredOrder } from "../rest/object-codec.ts";
import {
  dedupedOwners,
  inMetaOrder,
  inNameOrder,
  isDeleting,
  metaOf,
  textFields,
  withMember,
  withMeta,
} from "./object-members.ts";

test("an object without metadata has empty metadata", () => {
  assert.deepEqual(metaOf({ metadata: { name: "a" } }), { name: "a" });
  assert.deepEqual(metaOf({}), {});
  assert.deepEqual(metaOf({ metadata: "x" }), {});
});

test("metadata is replaced member by member, and undefined takes one away", () => {
  const object = deepFreeze({ kind: "K", metadata: { name: "a", uid: "1", generation: 2 } }) as JsonObject;
  assert.deepEqual(withMeta(object, { uid: undefined, generation: 3, labels: { a: "b" } }), {
    kind: "K",
    metadata: { name: "a", generation: 3, labels: { a: "b" } },
  });
  assert.deepEqual(withMeta({}, { name: "a" }), { metadata: { name: "a" } });
});

test("an object is being deleted when it has a time of deletion", () => {
  assert.equal(isDeleting({ metadata: { deletionTimestamp: "2024-01-01T00:00:00Z" } }), true);
  assert.equal(isDeleting({ metadata: { deletionTimestamp: null } }), false);
  assert.equal(isDeleting({ metadata: {} }), false);
});

test("a member is set or removed; the object is the same where there is nothing to remove", () => {
  const object = deepFreeze({ a: 1, b: 2 }) as JsonObject;
  assert.deepEqual(withMember(object, "b", 3), { a: 1, b: 3 });
  assert.deepEqual(withMember(object, "c", null), { a: 1, b: 2, c: null });
  assert.deepEqual(withMember(object, "b", undefined), { a: 1 });
  assert.equal(withMember(object, "c", undefined), object);
  assert.equal(withMember(object, "toString", undefined), object);
});

const owner = (uid: string, more: object = {}): object => ({ apiVersion: "v1", kind: "K", name: uid, uid, ...more });
const owned = (...ownerReferences: object[]): JsonObject =>
  ({ metadata: { name: "a", ownerReferences } }) as unknown as JsonObject;

test("owners that are there twice are kept once, with a warning", () => {
  const { object, warnings } = dedupedOwners(owned(owner("1"), owner("2"), owner("1"), owner("2"), owner("1")));
  assert.deepEqual(object, owned(owner("1"), owner("2")));
  assert.deepEqual(warnings, [
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: 1, 2, 1",
  ]);
});

test("the order of the members of an owner does not matter, their values do", () => {
  const { uid, ...rest } = owner("1") as { uid: string };
  assert.equal(dedupedOwners(owned(owner("1"), { uid, ...rest })).warnings.length, 1);
  const different = owned(owner("1"), owner("1", { controller: true }));
  assert.deepEqual(dedupedOwners(different), { object: different, warnings: [] });
  assert.equal(dedupedOwners(different).object, different);
  assert.deepEqual(dedupedOwners({}), { object: {}, warnings: [] });
});

test("fields to select by are the texts at their paths", () => {
  const fields = textFields("status.phase", "spec.count");
  assert.deepEqual(Object.keys(fields), ["status.phase", "spec.count"]);
  const object = { status: { phase: "Active" }, spec: { count: 0 } };
  assert.equal(fields["status.phase"]?.(object), "Active");
  assert.equal(fields["spec.count"]?.(object), "0");
  assert.equal(fields["status.phase"]?.({ status: { phase: null } }), "");
  assert.equal(fields["status.phase"]?.({}), "");
});

const cases: Record<string, { reason: string; value: JsonValue; want: string }> = {
  Flat: { reason: "by name", value: { b: 1, a: 2 }, want: '{"a":2,"b":1}' },
  Upper: { reason: "by bytes: capitals first", value: { a: 1, B: 2 }, want: '{"B":2,"a":1}' },
  Deep: { reason: "objects in objects", value: { a: { z: 1, y: 2 } }, want: '{"a":{"y":2,"z":1}}' },
  Lists: {
    reason: "objects in lists, which keep their order",
    value: [{ b: 1, a: 2 }, 1, "x"],
    want: '[{"a":2,"b":1},1,"x"]',
  },
  Nothing: { reason: "nothing has no members", value: { a: null, b: [] }, want: '{"a":null,"b":[]}' },
  Beyond: {
    reason: "characters beyond U+FFFF come after the private ones, unlike in JavaScript",
    value: { "\u{1f600}": 1, "\ue000": 2 },
    want: '{"\ue000":2,"\u{1f600}":1}',
  },
};

for (const [name, { reason, value, want }] of Object.entries(cases)) {
  test(`members by name: ${name}`, () => {
    assert.equal(JSON.stringify(inNameOrder(value)), want, reason);
  });
}

test("what is in order is not copied", () => {
  const sorted = { a: [{ b: 1, c: { d: 1 } }], e: null };
  assert.equal(inNameOrder(sorted), sorted);
  const part = { z: sorted, y: 1 };
  assert.equal(inNameOrder(part)["z"], sorted);
});

test("a change at the bottom costs no more than a walk", () => {
  let deep: JsonObject = { b: 1, a: 1 };
  for (let level = 0; level < 60; level += 1) deep = { in: deep };
  // Two looks at each level would be 2^60.
  assert.match(JSON.stringify(inNameOrder(deep)), /\{"a":1,"b":1\}/);
});

const metadata = {
  managedFields: [{ time: "t", operation: "Update", manager: "m", subresource: "status", apiVersion: "v1" }],
  uid: "u",
  ownerReferences: [{ uid: "o", name: "n", kind: "K", apiVersion: "v1" }],
  name: "a",
};

test("metadata is written as Go has it, also in its lists", () => {
  assert.equal(
    JSON.stringify(inMetaOrder(metadata)),
    '{"name":"a","uid":"u","ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"o"}],' +
      '"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","time":"t","subresource":"status"}]}',
  );
});

test("built-in objects are written as their types have them, custom ones by name", () => {
  const builtin = { metadata, data: { b: "1", a: "1" }, kind: "ConfigMap", apiVersion: "v1" };
  assert.match(
    JSON.stringify(inStoredOrder(builtin)),
    /^\{"kind":"ConfigMap","apiVersion":"v1","metadata":\{"name".*"data":\{"b":"1","a":"1"\}\}$/,
  );
  const custom = { metadata, spec: { b: 1, a: 1 }, kind: "K", apiVersion: "g/v1" };
  assert.match(
    JSON.stringify(inStoredOrder(custom, { custom: true })),
    /^\{"apiVersion":"g\/v1","kind":"K","metadata":\{"managedFields":\[\{"apiVersion".*"spec":\{"a":1,"b":1\}\}$/,
  );
});
