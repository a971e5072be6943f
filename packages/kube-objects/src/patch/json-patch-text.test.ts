// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject } from "../json/json-value.ts";
import { applyJsonPatch, consumedPatch, jsonPatchedText, mergePatchedText } from "./json-patch.ts";
import { applyMergePatch } from "./merge-patch.ts";

// As the reference prints a ConfigMap: members in the order of its type.
const document: JsonObject = {
  kind: "ConfigMap",
  apiVersion: "v1",
  metadata: { name: "a", namespace: "ns", labels: { b: "2", z: "1" }, creationTimestamp: "<t>" },
  data: { a: "<&>", z: "1" },
};

// Answers of kube-apiserver 1.36.3 to patches whose result it refused.
const merged: Record<string, { reason: string; patch: JsonObject; want: string }> = {
  Untouched: {
    reason: "what the patch does not mention stands as it was",
    patch: { kind: "Nope" },
    want: '{"apiVersion":"v1","data":{"a":"\\u003c\\u0026\\u003e","z":"1"},"kind":"Nope","metadata":{"name":"a","namespace":"ns","labels":{"b":"2","z":"1"},"creationTimestamp":"<t>"}}',
  },
  Opened: {
    reason: "what the patch goes into is printed by name",
    patch: { metadata: { labels: { zz: 1 } } },
    want: '{"apiVersion":"v1","data":{"a":"\\u003c\\u0026\\u003e","z":"1"},"kind":"ConfigMap","metadata":{"creationTimestamp":"\\u003ct\\u003e","labels":{"b":"2","z":"1","zz":1},"name":"a","namespace":"ns"}}',
  },
  New: {
    reason: "what is new loses its nulls, in lists too, and is printed by name",
    patch: { data: { q: [1, { b: 1, a: null }] } },
    want: '{"apiVersion":"v1","data":{"a":"\\u003c\\u0026\\u003e","q":[1,{"b":1}],"z":"1"},"kind":"ConfigMap","metadata":{"name":"a","namespace":"ns","labels":{"b":"2","z":"1"},"creationTimestamp":"<t>"}}',
  },
  Replaced: {
    reason: "what replaces an object stands as it was sent",
    patch: { data: [{ z: 1, a: null }], metadata: null },
    want: '{"apiVersion":"v1","data":[{"z":1,"a":null}],"kind":"ConfigMap"}',
  },
};

for (const [name, { reason, patch, want }] of Object.entries(merged)) {
  test(`the text of a merge patch's result: ${name}`, () => {
    assert.equal(mergePatchedText(document, patch), want.replaceAll('"<t>"', '"\\u003ct\\u003e"'), reason);
  });
}

test("the text of a JSON patch's result: what its paths go through is printed by name", () => {
  const text = jsonPatchedText(document, [{ op: "add", path: "/metadata/labels/n", value: { z: 1, a: 2 } }]);
  assert.equal(
    text,
    '{"apiVersion":"v1","data":{"a":"\\u003c\\u0026\\u003e","z":"1"},"kind":"ConfigMap","metadata":{"creationTimestamp":"\\u003ct\\u003e","labels":{"b":"2","n":{"z":1,"a":2},"z":"1"},"name":"a","namespace":"ns"}}',
  );
  assert.equal(
    jsonPatchedText(document, [{ op: "replace", path: "", value: { z: 1, a: { c: 1, b: 2 } } }]),
    '{"a":{"c":1,"b":2},"z":1}',
  );
});

const value = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, 1, "x", true),
    fc.array(tie("value"), { maxLength: 2 }),
    tie("object"),
  ),
  object: fc.dictionary(fc.constantFrom("a", "b", "c", "<"), tie("value"), { maxKeys: 3 }),
}));

test("the text of a merge patch's result is its result", () => {
  fc.assert(
    fc.property(value.object, value.object, (before, patch) => {
      const text = mergePatchedText(before as JsonObject, patch as JsonObject);
      assert.deepEqual(
        JSON.parse(text),
        JSON.parse(JSON.stringify(applyMergePatch(before as JsonObject, patch as JsonObject))),
      );
    }),
  );
});

test("the text of a JSON patch's result is its result", () => {
  const operation = fc.record({ op: fc.constant("add"), path: fc.constantFrom("/a", "/b", "/c"), value: value.value });
  fc.assert(
    fc.property(value.object, fc.array(operation), (before, operations) => {
      const patch = operations as JsonObject[];
      const text = jsonPatchedText(before as JsonObject, patch);
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(applyJsonPatch(before as JsonObject, patch))));
    }),
  );
});

const original: JsonObject = {
  spec: { replicas: 1, template: { spec: { containers: [{ name: "a" }] } }, map: { x: "1" } },
};

const cases: readonly (readonly [reason: string, patch: JsonObject, want: JsonObject])[] = [
  ["what merges member by member stays", { spec: { replicas: "x" } }, { spec: { replicas: "x" } }],
  ["null for what is there stays", { spec: { replicas: null } }, { spec: { replicas: null } }],
  [
    "a list with an order is used up with its order",
    { spec: { template: { spec: { "$setElementOrder/containers": [{ name: "a" }], containers: [{ name: "a" }] } } } },
    { spec: { template: { spec: {} } } },
  ],
  [
    "a list without stays",
    { spec: { template: { spec: { containers: [1] } } } },
    { spec: { template: { spec: { containers: [1] } } } },
  ],
  ["keys to retain are used up", { spec: { map: { $retainKeys: ["x"], x: "2" } } }, { spec: { map: { x: "2" } } }],
  ["so is an order to replace", { spec: { map: { $patch: "replace", y: null } } }, { spec: { map: { y: null } } }],
  ["an order to delete is not", { spec: { map: { $patch: "delete" } } }, { spec: { map: { $patch: "delete" } } }],
  ["what is new loses its nulls", { spec: { more: { a: null, b: { c: null } } } }, { spec: { more: { b: {} } } }],
  ["in lists too", { spec: { more: [null, { a: null, b: 1 }] } }, { spec: { more: [null, { b: 1 }] } }],
];

for (const [reason, patch, want] of cases) {
  test(`what is left of a patch: ${reason}`, () => assert.deepEqual(consumedPatch(original, patch), want));
}
