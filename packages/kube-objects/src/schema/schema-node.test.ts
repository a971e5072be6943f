// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { schemaNode } from "./schema-node.ts";

test("keywords in their proper form are taken", () => {
  const node = schemaNode({
    type: "integer",
    format: "int32",
    nullable: true,
    minimum: 5n,
    required: ["a"],
    enum: [1],
    items: {},
    additionalProperties: false,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
  });
  assert.deepEqual(node.types, ["integer"]);
  assert.equal(node.format, "int32");
  assert.equal(node.nullable, true);
  assert.equal(node.limits.minimum, 5);
  assert.equal(node.additionalProperties, false);
  assert.deepEqual([node.listType, node.listMapKeys], ["map", ["k"]]);
});

test("keywords in any other form are ignored", () => {
  const node = schemaNode({
    type: 5,
    format: [],
    nullable: "true",
    minimum: "5",
    maximum: Number.NaN,
    required: ["a", 5],
    enum: "a",
    pattern: {},
    items: [{}],
    properties: [],
    additionalProperties: "x",
    allOf: [{}, 5, null],
    not: true,
    "x-kubernetes-list-type": true,
    "x-kubernetes-int-or-string": "true",
  });
  assert.deepEqual(node.types, []);
  assert.equal(node.format, "");
  assert.equal(node.nullable, false);
  assert.equal(node.limits.minimum, undefined);
  assert.equal(node.limits.maximum, undefined);
  assert.deepEqual(node.required, ["a"]);
  assert.deepEqual(node.enum, []);
  assert.equal(node.items, undefined);
  assert.deepEqual(node.properties, {});
  assert.equal(node.additionalProperties, undefined);
  assert.deepEqual(
    node.allOf.map(({ schema }) => schema),
    [{}],
  );
  assert.equal(node.not, undefined);
  assert.equal(node.listType, "");
});

test("types may be a list, and int-or-string is two", () => {
  assert.deepEqual(schemaNode({ type: ["string", "null"] }).types, ["string", "null"]);
  assert.deepEqual(schemaNode({ type: "object", "x-kubernetes-int-or-string": true }).types, ["integer", "string"]);
});

test("a schema is read once", () => {
  const schema = { type: "string" };
  assert.equal(schemaNode(schema), schemaNode(schema));
});
