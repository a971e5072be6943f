// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { inStoredOrder } from "../rest/object-codec.ts";
import { inMetaOrder, inNameOrder } from "./member-order.ts";

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
