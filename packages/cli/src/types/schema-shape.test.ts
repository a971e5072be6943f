// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { componentOf, isDefaulted, isUnion, shapeOf } from "./schema-shape.ts";

const texts = (schema: JsonObject): readonly string[] | string => {
  const { value } = shapeOf(schema);
  return value.is === "alternatives" ? value.texts : value.is;
};

test("types of JSON are those of TypeScript", () => {
  assert.deepEqual(
    ["string", "integer", "number", "boolean"].map((type) => texts({ type })),
    [["string"], ["number"], ["number"], ["boolean"]],
  );
  assert.deepEqual(texts({ "x-kubernetes-int-or-string": true }), ["number", "string"]);
  assert.deepEqual(texts({}), ["unknown"]);
  assert.deepEqual(texts({ type: "unheard" }), ["unknown"]);
});

test("an enum is a union of literals, each once", () => {
  assert.deepEqual(texts({ type: "string", enum: ["a", 'b"', "a"] }), ['"a"', '"b\\""']);
  assert.deepEqual(texts({ enum: [1, -2.5, true, null] }), ["1", "-2.5", "true", "null"]);
  assert.deepEqual(texts({ type: "integer", enum: [9007199254740993n, 1] }), ["number", "1"]);
  assert.deepEqual(texts({ type: "string", enum: [] }), ["string"]);
  assert.deepEqual(texts({ type: "object", enum: [{ a: 1 }] }), "object", "an object has no literal");
});

test("an enum of more than a thousand values is its type", () => {
  const values = (length: number): number[] => Array.from({ length }, (_, at) => at);
  assert.equal(texts({ type: "integer", enum: values(1000) }).length, 1000);
  assert.deepEqual(texts({ type: "integer", enum: values(1001) }), ["number"]);
});

test("nullable values take null as well, unless they do already", () => {
  assert.equal(shapeOf({ type: "string", nullable: true }).isNullable, true);
  assert.equal(shapeOf({ type: "string" }).isNullable, false);
  assert.equal(shapeOf({ enum: ["a", null], nullable: true }).isNullable, false);
  assert.equal(shapeOf({ nullable: true }).isNullable, false, "unknown has null already");
  assert.equal(shapeOf({ type: "object", properties: { a: {} }, nullable: true }).isNullable, true);
});

test("a union needs parentheses", () => {
  assert.ok(isUnion(shapeOf({ enum: ["a", "b"] })));
  assert.ok(isUnion(shapeOf({ type: "string", nullable: true })));
  assert.ok(!isUnion(shapeOf({ enum: ["a"] })));
  assert.ok(!isUnion(shapeOf({ type: "array", items: {} })));
});

test("lists and maps have the schema of their values", () => {
  assert.deepEqual(shapeOf({ type: "array", items: { type: "string" } }).value, {
    is: "list",
    items: { type: "string" },
  });
  assert.deepEqual(shapeOf({ type: "array" }).value, { is: "list", items: undefined });
  assert.deepEqual(shapeOf({ type: "object", additionalProperties: { type: "string" } }).value, {
    is: "map",
    values: { type: "string" },
  });
  assert.deepEqual(shapeOf({ type: "object", additionalProperties: true }).value, { is: "map", values: undefined });
  assert.deepEqual(shapeOf({ type: "object", "x-kubernetes-preserve-unknown-fields": true }).value, {
    is: "map",
    values: undefined,
  });
});

test("an object has its members: required, defaulted, and schemas that are wrong count as empty", () => {
  const schema = { type: "object", required: ["a"], properties: { a: { type: "string" }, b: { default: 0 }, c: true } };
  assert.deepEqual(shapeOf(schema).value, {
    ...{ is: "object", isOpen: false, isResource: false },
    members: [
      { name: "a", schema: { type: "string" }, isRequired: true, isDefaulted: false },
      { name: "b", schema: { default: 0 }, isRequired: false, isDefaulted: true },
      { name: "c", schema: {}, isRequired: false, isDefaulted: false },
    ],
  });
  assert.deepEqual(shapeOf({ type: "object" }).value, { is: "object", members: [], isOpen: false, isResource: false });
  assert.deepEqual(
    [isDefaulted({ default: false }), isDefaulted({ default: null }), isDefaulted({})],
    [true, false, false],
  );
});

test("an object may be open, or a Kubernetes object inside another one", () => {
  const open = (more: JsonObject): unknown[] => {
    const { value } = shapeOf({ type: "object", properties: { a: {} }, ...more });
    return value.is === "object" ? [value.isOpen, value.isResource] : [];
  };
  assert.deepEqual(open({}), [false, false]);
  assert.deepEqual(open({ "x-kubernetes-preserve-unknown-fields": true }), [true, false]);
  assert.deepEqual(open({ additionalProperties: { type: "string" } }), [true, false]);
  assert.deepEqual(open({ additionalProperties: false }), [false, false]);
  assert.deepEqual(open({ "x-kubernetes-embedded-resource": true }), [false, true]);
  assert.equal(shapeOf({ "x-kubernetes-embedded-resource": true }).value.is, "object");
  assert.equal(shapeOf({ properties: { a: {} } }).value.is, "object", "properties without a type");
});

test("oneOf lists the types of a value that has none itself", () => {
  assert.deepEqual(texts({ oneOf: [{ type: "string" }, { type: "integer" }, { type: "number" }] }), [
    "string",
    "number",
  ]);
  assert.deepEqual(texts({ oneOf: [{ type: "string" }, { type: "object", properties: { a: {} } }] }), ["unknown"]);
  assert.deepEqual(texts({ oneOf: ["wrong"] }), ["unknown"]);
  assert.deepEqual(texts({ oneOf: [{ oneOf: [{ type: "string" }] }] }), ["unknown"], "one level only");
  assert.deepEqual(texts({ type: "string", oneOf: [{ type: "integer" }] }), ["string"]);
});

test("a reference is a component, by itself or as the only one of allOf", () => {
  const $ref = "#/components/schemas/io.k8s.api.core.v1.Pod";
  assert.deepEqual(shapeOf({ $ref, type: "object" }).value, { is: "component", name: "io.k8s.api.core.v1.Pod" });
  assert.equal(componentOf({ allOf: [{ $ref }] }), "io.k8s.api.core.v1.Pod");
  assert.equal(componentOf({ allOf: [{ $ref }, { type: "object" }] }), undefined);
  assert.equal(componentOf({ allOf: [] }), undefined);
  assert.equal(componentOf({}), undefined);
});
