// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "@purlin/kube-objects/schema";
import fc from "fast-check";
import { escapeName, SchemaNode, unescapeName, valueSchema, withResourceFields } from "./schema-node.ts";

const names: readonly { readonly why: string; readonly name: string; readonly escaped: string | undefined }[] = [
  { why: "a plain name", name: "name_1", escaped: "name_1" },
  { why: "a dash", name: "a-b", escaped: "a__dash__b" },
  { why: "a dot", name: "a.b", escaped: "a__dot__b" },
  { why: "a slash", name: "a/b", escaped: "a__slash__b" },
  { why: "two underscores", name: "a__b", escaped: "a__underscores__b" },
  { why: "three underscores", name: "a___b", escaped: "a__underscores___b" },
  { why: "four underscores", name: "____", escaped: "__underscores____underscores__" },
  { why: "one underscore", name: "_", escaped: "_" },
  { why: "a dash at the start", name: "-a", escaped: "__dash__a" },
  { why: "a keyword of CEL", name: "in", escaped: "__in__" },
  { why: "a reserved word", name: "namespace", escaped: "__namespace__" },
  { why: "a keyword inside a name", name: "inside", escaped: "inside" },
  { why: "a word that is reserved elsewhere", name: "class", escaped: "class" },
  { why: "a digit at the start", name: "1a", escaped: undefined },
  { why: "a dollar sign", name: "$ref", escaped: undefined },
  { why: "a letter outside ASCII", name: "\u00e9", escaped: undefined },
  { why: "a space", name: "a b", escaped: undefined },
  { why: "nothing", name: "", escaped: undefined },
];

for (const { why, name, escaped } of names) {
  test(`escaped name: ${why}`, () => {
    assert.equal(escapeName(name), escaped);
    if (escaped !== undefined) assert.equal(unescapeName(escaped), name);
  });
}

test("every name that can be escaped is read back", () => {
  const parts = fc.array(fc.constantFrom("a", "_", "-", ".", "/", "in", "dot", "1"), { maxLength: 8 });
  fc.assert(
    fc.property(parts, (all) => {
      const escaped = escapeName(all.join(""));
      if (escaped !== undefined) assert.equal(unescapeName(escaped), all.join(""));
    }),
  );
});

test("names with unknown escapes are not names of properties", () => {
  assert.equal(unescapeName("a__plus__b"), undefined);
  assert.equal(unescapeName("a__in__"), undefined);
  assert.equal(unescapeName("__class__"), undefined);
});

const text: Schema = { type: "string" };

test("a map has a schema of its values, unless it allows anything", () => {
  assert.equal(valueSchema({ additionalProperties: text }), text);
  assert.equal(valueSchema({ additionalProperties: true }), undefined);
  assert.equal(valueSchema({}), undefined);
});

test("a resource has a kind, an apiVersion and the names of its metadata, and no other metadata", () => {
  const schema: Schema = {
    type: "object",
    properties: { spec: text, metadata: { type: "object", properties: { labels: text } }, kind: { type: "integer" } },
  };
  assert.deepEqual(withResourceFields(schema).properties, {
    spec: text,
    kind: text,
    apiVersion: text,
    metadata: { type: "object", properties: { name: text, generateName: text } },
  });
  assert.deepEqual(Object.keys(schema.properties ?? {}), ["spec", "metadata", "kind"]);
});

test("a schema that declares all of them is left as it is", () => {
  const metadata: Schema = { type: "object", properties: { name: text, generateName: text, labels: text } };
  const complete: Schema = { type: "object", properties: { kind: text, apiVersion: text, metadata } };
  assert.equal(withResourceFields(complete), complete);
  for (const missing of ["kind", "apiVersion", "metadata"]) {
    const { [missing]: _left, ...rest } = complete.properties ?? {};
    assert.notEqual(withResourceFields({ ...complete, properties: rest }), complete);
  }
});

test("the parts of a schema are prepared once", () => {
  const node = new SchemaNode({ type: "object", properties: { a: { type: "array", items: text } } });
  const list = node.property("a");
  assert.equal(node.property("a"), list);
  assert.equal(list?.items, list?.items);
  assert.equal(list?.items?.schema, text);
  assert.equal(node.property("b"), undefined);
  assert.equal(node.property("toString"), undefined);
});

test("keys of a map all have the schema of its values, and objects are not maps", () => {
  const map = new SchemaNode({ type: "object", additionalProperties: text });
  assert.equal(map.isObject, false);
  assert.equal(map.property("a"), map.property("b"));
  assert.equal(new SchemaNode({ type: "object", properties: { a: text } }).isObject, true);
  assert.equal(new SchemaNode({ type: "object", properties: {} }).isObject, false);
});

test("the keys of a list of type map are looked up by their escaped names where there are such", () => {
  const node = new SchemaNode({ type: "array", items: text, "x-kubernetes-list-map-keys": ["a-b", "$c", "in"] });
  assert.deepEqual(node.keyNames, ["a__dash__b", "$c", "__in__"]);
  assert.deepEqual(new SchemaNode({ type: "array" }).keyNames, []);
});

test("a root and an embedded resource have the fields of a resource", () => {
  const object: Schema = { type: "object", properties: { a: text } };
  assert.equal(new SchemaNode(object).property("kind"), undefined);
  assert.equal(new SchemaNode(object, true).property("kind")?.schema.type, "string");
  const embedded = new SchemaNode({ type: "object", "x-kubernetes-embedded-resource": true });
  assert.equal(embedded.property("metadata")?.property("name")?.schema.type, "string");
});
