// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../json/json-value.ts";
import { checkUnknownFields, closestName, findUnknownFields } from "./check-schema.ts";

const string = { type: "string" };
const cases: Record<string, { reason: string; schema: JsonObject; value: unknown; want: string[] }> = {
  Known: { reason: "declared properties", schema: { properties: { a: string } }, value: { a: "x" }, want: [] },
  Unknown: { reason: "another one", schema: { properties: { a: string } }, value: { b: 1 }, want: ["b"] },
  Meta: {
    reason: "what every object has is known at the root",
    schema: { properties: { spec: {} } },
    value: { apiVersion: "v1", kind: "X", metadata: { anything: 1 } },
    want: [],
  },
  NoMetaInside: {
    reason: "and only there",
    schema: { properties: { spec: { properties: { a: string } } } },
    value: { spec: { kind: "X" } },
    want: ["spec.kind"],
  },
  Embedded: {
    reason: "and in embedded resources",
    schema: { properties: { t: { "x-kubernetes-embedded-resource": true, properties: { spec: {} } } } },
    value: { t: { kind: "X", status: 1 } },
    want: ["t.status"],
  },
  FreeForm: {
    reason: "an object without any members specified",
    schema: { type: "object" },
    value: { a: { b: 1 } },
    want: [],
  },
  Open: {
    reason: "unknown fields are kept, known ones looked into",
    schema: { "x-kubernetes-preserve-unknown-fields": true, properties: { a: { properties: { b: string } } } },
    value: { x: 1, a: { c: 1 } },
    want: ["a.c"],
  },
  Map: {
    reason: "keys of maps are data",
    schema: { properties: { m: { additionalProperties: { properties: { a: string } } } } },
    value: { m: { k: { a: "x", b: 1 } } },
    want: ["m.k.b"],
  },
  AnyValue: {
    reason: "additionalProperties true",
    schema: { properties: { m: { additionalProperties: true } } },
    value: { m: { k: { a: 1 } } },
    want: [],
  },
  Closed: {
    reason: "additionalProperties false",
    schema: { properties: { m: { properties: { a: string }, additionalProperties: false } } },
    value: { m: { k: 1 } },
    want: ["m.k"],
  },
  List: {
    reason: "items",
    schema: { properties: { l: { items: { properties: { a: string } } } } },
    value: { l: [{ a: "x" }, { b: 1 }] },
    want: ["l[1].b"],
  },
  Composed: {
    reason: "properties in allOf, anyOf and oneOf are known",
    schema: {
      properties: { a: string },
      allOf: [{ properties: { b: string } }],
      anyOf: [{ oneOf: [{ properties: { c: { properties: { d: string } } } }] }],
    },
    value: { a: "x", b: "x", c: { d: "x", e: 1 }, f: 1 },
    want: ["c.e", "f"],
  },
  NotRestricts: {
    reason: "properties in not are not",
    schema: { properties: { a: string }, not: { properties: { b: {} } } },
    value: { b: 1 },
    want: ["b"],
  },
  Sorted: {
    reason: "by bytes",
    schema: { properties: { a: string } },
    value: { z: 1, b: 1, é: 1, "😀": 1 },
    want: ["b", "z", "é", "😀"],
  },
  Prototype: {
    reason: "members of Object.prototype are unknown fields",
    schema: { properties: { a: string } },
    value: { constructor: 1 },
    want: ["constructor"],
  },
  Undefined: {
    reason: "an undefined member counts as absent",
    schema: { properties: { a: string } },
    value: { b: undefined },
    want: [],
  },
  Scalar: { reason: "a scalar has no fields", schema: { properties: { a: string } }, value: "x", want: [] },
};

for (const [name, { reason, schema, value, want }] of Object.entries(cases)) {
  test(`findUnknownFields ${name}: ${reason}`, () => {
    assert.deepEqual(
      findUnknownFields(value, schema).map(({ path }) => path),
      want,
    );
  });
}

test("findings name the field, and the one that was meant if any is close", () => {
  const schema: JsonObject = { properties: { replicas: { type: "integer" }, image: string } };
  assert.deepEqual(checkUnknownFields({ Replicas: 1, colour: 1 }, schema), [
    {
      type: "UnknownField",
      field: "Replicas",
      path: "Replicas",
      body: 'unknown field "Replicas", did you mean "replicas"?',
    },
    { type: "UnknownField", field: "colour", path: "colour", body: 'unknown field "colour"' },
  ]);
});

const names = ["containers", "initContainers", "volumes", "restartPolicy", "name", "env"];

for (const [written, meant] of [
  ["container", "containers"],
  ["contianers", "containers"],
  ["Containers", "containers"],
  ["initcontainers", "initContainers"],
  ["volume", "volumes"],
  ["restartPolcy", "restartPolicy"],
  ["nmae", "name"],
  ["envs", "env"],
  ["env_", "env"],
  ["x", undefined],
  ["affinity", undefined],
  ["", undefined],
  ["c".repeat(100), undefined],
] as const) {
  test(`"${written.slice(0, 20)}" was meant as ${meant ?? "nothing known"}`, () => {
    assert.equal(closestName(written, names), meant);
  });
}

test("the closest wins, the first of equals", () => {
  assert.equal(closestName("abcd", ["abxx", "abce", "abcf"]), "abce");
  assert.equal(closestName("anything", []), undefined);
});
