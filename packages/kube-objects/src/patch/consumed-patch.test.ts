// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../json/json-value.ts";
import { consumedPatch } from "./consumed-patch.ts";

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
