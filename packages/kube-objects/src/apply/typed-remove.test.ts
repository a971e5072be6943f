// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { createFieldManager } from "./field-manager.ts";
import { decodeFieldsV1, encodeFieldsV1 } from "./fields-v1.ts";
// Observed from the reference's ToFieldSet, RemoveItems, ExtractItems and Leaves.
import observed from "./testdata/extract.json" with { type: "json" };
import { widgetVersions } from "./testdata/widget.ts";
import { fieldSetOf } from "./typed-field-set.ts";
import { extractApplied, extractFields, leavesOf, removeFields } from "./typed-remove.ts";

const type = widgetVersions.typeAt("example.org/v1");
assert.ok(type);
const object = deepFreeze(observed.object);

test("the fields of an object", () => {
  assert.ok(type);
  assert.deepEqual(encodeFieldsV1(fieldSetOf(type, object)), observed.set);
});

for (const row of observed.rows as ReadonlyArray<Record<string, unknown>>) {
  test(`taking out ${JSON.stringify(row["fields"])}`, () => {
    assert.ok(type);
    const set = decodeFieldsV1(row["fields"] as JsonObject);
    assert.deepEqual(removeFields(type, object, set), row["removed"]);
    assert.deepEqual(extractFields(type, object, set), row["extracted"]);
    assert.deepEqual(extractFields(type, object, leavesOf(set)), row["leaves"]);
  });
}

test("what a manager applied can be taken out, changed and applied again", () => {
  assert.ok(type);
  const manager = createFieldManager({
    apiVersion: "example.org/v1",
    kind: "Widget",
    versions: widgetVersions,
    now: () => new Date(0),
  });
  const config = (spec: Record<string, JsonValue>): JsonObject => ({
    apiVersion: "example.org/v1",
    kind: "Widget",
    metadata: { name: "w", labels: { a: "1" } },
    spec,
  });
  const one = manager.apply(undefined, config({ ports: [{ port: 80, name: "web" }] }), { manager: "a", force: false });
  const two = manager.apply(one, config({ replicas: 2, ports: [{ port: 53 }] }), { manager: "b", force: false });
  const extracted = extractApplied(type, two, { manager: "a" });
  assert.deepEqual(extracted, {
    apiVersion: "example.org/v1",
    kind: "Widget",
    metadata: { labels: { a: "1" } },
    spec: { ports: [{ port: 80, name: "web" }] },
  });
  assert.equal(extractApplied(type, two, { manager: "unknown" }), undefined);
  assert.equal(extractApplied(type, two, { manager: "a", subresource: "status" }), undefined);
});
