// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { fieldsLastApplied, syncLastApplied } from "./apply-configuration.ts";
import { printPaths } from "./apply-errors.ts";
import { customResourceType } from "./apply-schema.ts";

const annotation = "kubectl.kubernetes.io/last-applied-configuration";
const type = customResourceType({
  type: "object",
  properties: {
    spec: { type: "object", properties: { a: { type: "integer" }, b: { type: "string" }, c: { type: "string" } } },
  },
});
const config = (spec: JsonObject, more: JsonObject = {}): JsonObject => ({
  apiVersion: "x.org/v1",
  kind: "Thing",
  spec,
  ...more,
});
const live = (spec: JsonObject, text?: JsonValue): JsonObject => ({
  ...config(spec),
  metadata: { name: "a", ...(text !== undefined && { annotations: { [annotation]: text } }) },
});

const fields = (object: JsonObject, apiVersion = "x.org/v1"): string[] | undefined => {
  const found = fieldsLastApplied({ value: object, type }, apiVersion);
  return found && printPaths(found);
};

test("fields of the last configuration count while the live object has the same value", () => {
  const text = JSON.stringify(config({ a: 1, b: "x", c: "gone" }));
  assert.deepEqual(fields(live({ a: 1, b: "changed" }, text)), [".apiVersion", ".kind", ".spec.a"]);
});

test("an annotation that is missing or malformed allows nothing", () => {
  const good = JSON.stringify(config({ a: 1 }));
  assert.deepEqual(fields(live({ a: 1 }, good)), [".apiVersion", ".kind", ".spec.a"]);
  for (const text of [undefined, "", "{", "[]", '{"apiVersion":"x.org/v1"}', 7]) {
    assert.equal(fields(live({ a: 1 }, text)), undefined, String(text));
  }
  assert.equal(fields(live({ a: 1 }, good), "x.org/v2"), undefined, "another version");
});

test("a configuration or a live object that is not of the type allows nothing", () => {
  assert.equal(fields(live({ a: 1 }, JSON.stringify(config({ a: "text" })))), undefined);
  assert.equal(fields(live({ a: "text" }, JSON.stringify(config({ a: 1 })))), undefined);
  assert.equal(fields(live({ a: 1 }, JSON.stringify(config({ unknown: 1 })))), undefined);
});

const annotated = (annotations: JsonObject): JsonObject => ({ kind: "Thing", metadata: { name: "a", annotations } });
const annotationsOf = (object: JsonObject): JsonObject =>
  (object["metadata"] as JsonObject)["annotations"] as JsonObject;

test("an object without the annotation is left as it is", () => {
  for (const object of [{}, annotated({}), annotated({ [annotation]: "" }), { metadata: { annotations: null } }]) {
    assert.equal(syncLastApplied(object, config({})), object);
  }
});

test("the annotation is rewritten from the configuration, without itself, as Go prints JSON", () => {
  const object = deepFreeze(annotated({ other: "1", [annotation]: "old" }));
  const applied = config({ b: "<x>" }, { metadata: { annotations: { z: "1", [annotation]: "nested" } } });
  const synced = syncLastApplied(object, deepFreeze(applied));
  assert.deepEqual(annotationsOf(synced), {
    other: "1",
    [annotation]:
      '{"apiVersion":"x.org/v1","kind":"Thing","metadata":{"annotations":{"z":"1"}},"spec":{"b":"\\u003cx\\u003e"}}\n',
  });
});

test("an annotation that would be too large is removed", () => {
  const object = annotated({ other: "1", [annotation]: "old" });
  const ofBytes = (bytes: number): JsonObject => syncLastApplied(object, { k: "x".repeat(bytes) });
  const overhead = "other1".length + annotation.length + '{"k":""}\n'.length;
  const most = 256 * 1024;
  assert.deepEqual(Object.keys(annotationsOf(ofBytes(most - overhead))), ["other", annotation]);
  assert.deepEqual(annotationsOf(ofBytes(most - overhead + 1)), { other: "1" });
});
