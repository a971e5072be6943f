// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { applyDefaults, dropForbiddenNulls, prune } from "./defaults-and-pruning.ts";

interface Answer {
  readonly schema: JsonObject;
  readonly spec: JsonValue;
  readonly stored: JsonValue;
}

// Random schemas and objects, and what a kube-apiserver 1.36.3 made of them.
const answers = JSON.parse(
  readFileSync(new URL("./testdata/real-server.json", import.meta.url), "utf8"),
) as readonly Answer[];

function stored(object: JsonObject, schema: JsonObject): JsonObject {
  return applyDefaults(dropForbiddenNulls(prune(object, schema).object, schema), schema) ?? assert.fail();
}

test(`${answers.length} random objects are stored as the reference server stores them`, () => {
  for (const { schema, spec, stored: expected } of answers) {
    const root = { type: "object", properties: { spec: schema } };
    const result = stored({ apiVersion: "e.org/v1", kind: "K", metadata: { name: "o" }, spec }, root);
    assert.deepEqual(result["spec"] ?? null, expected, JSON.stringify({ schema, spec }));
  }
});

const text = { type: "string" };
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "object", properties, ...more });

const pruned: Record<string, { schema: JsonObject; object: JsonObject; result: JsonObject; unknown: string[] }> = {
  UnknownAtEveryLevel: {
    schema: object({ spec: object({ list: { type: "array", items: object({ a: text }) } }) }),
    object: { spec: { list: [{ a: "1", x: 1 }], y: 2 }, z: 3 },
    result: { spec: { list: [{ a: "1" }] } },
    unknown: ["spec.list[0].x", "spec.y", "z"],
  },
  TypeAndMetadataStay: {
    schema: object({}),
    object: { apiVersion: "v1", kind: "K", metadata: { name: "n", odd: 1 } },
    result: { apiVersion: "v1", kind: "K", metadata: { name: "n", odd: 1 } },
    unknown: [],
  },
  EmbeddedResource: {
    schema: object({ e: object({ spec: object({ a: text }) }, { "x-kubernetes-embedded-resource": true }) }),
    object: { e: { apiVersion: "v1", kind: "K", metadata: { name: "n" }, spec: { a: "1", b: 2 }, other: 1 } },
    result: { e: { apiVersion: "v1", kind: "K", metadata: { name: "n" }, spec: { a: "1" } } },
    unknown: ["e.other", "e.spec.b"],
  },
  PreservedButDeclaredChildrenPruned: {
    schema: object({ p: object({ known: object({ a: text }) }, { "x-kubernetes-preserve-unknown-fields": true }) }),
    object: { p: { free: { x: 1 }, known: { a: "1", b: 2 } } },
    result: { p: { free: { x: 1 }, known: { a: "1" } } },
    unknown: ["p.known.b"],
  },
  KeysOfTheLanguage: {
    schema: object({ labels: { type: "object", additionalProperties: text } }),
    object: JSON.parse('{"labels":{"__proto__":"a","constructor":"b"},"__proto__":{"x":1},"toString":2}') as JsonObject,
    result: JSON.parse('{"labels":{"__proto__":"a","constructor":"b"}}') as JsonObject,
    unknown: ["__proto__", "toString"],
  },
};
for (const [name, row] of Object.entries(pruned)) {
  test(`prune: ${name}`, () => {
    const result = prune(row.object, row.schema);
    assert.deepEqual([result.object, result.unknown], [row.result, row.unknown]);
  });
}

const defaulted: Record<string, { schema: JsonObject; object: JsonObject; result: JsonObject; reason: string }> = {
  ParentAbsent: {
    schema: object({ spec: object({ a: { ...text, default: "x" } }) }),
    object: {},
    result: {},
    reason: "a default needs its parent",
  },
  ParentDefaulted: {
    schema: object({ spec: object({ a: { ...text, default: "x" } }, { default: {} }) }),
    object: {},
    result: { spec: { a: "x" } },
    reason: "a parent that is defaulted is filled too",
  },
  NullNotNullable: {
    schema: object({ a: { ...text, default: "x" } }),
    object: { a: null },
    result: { a: "x" },
    reason: "null stands for absent",
  },
  NullNullable: {
    schema: object({ a: { ...text, default: "x", nullable: true } }),
    object: { a: null },
    result: { a: null },
    reason: "null is a value there",
  },
  ItemsAndValues: {
    schema: object({
      list: { type: "array", items: object({ a: { type: "integer", default: 0 } }) },
      map: { type: "object", additionalProperties: object({ b: { type: "boolean", default: false } }) },
    }),
    object: { list: [{}, { a: 2 }], map: { k: {} } },
    result: { list: [{ a: 0 }, { a: 2 }], map: { k: { b: false } } },
    reason: "defaults that are zero count",
  },
};
test("default: at most 100,000 values are added", () => {
  const item = object(
    Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`f${i}`, { type: "string", default: "" }])),
  );
  const nested = object({ a: { type: "object", default: { b: [1, 2, 3] } } });
  const lists = object({ list: { type: "array", items: item }, nested: { type: "array", items: nested } });
  const added = (member: string, length: number) =>
    applyDefaults({ [member]: Array.from({ length }, () => ({})) }, lists) !== undefined;
  assert.deepEqual([added("list", 10_000), added("list", 10_001)], [true, false]);
  assert.deepEqual([added("nested", 20_000), added("nested", 20_001)], [true, false], "each value of a default counts");
});

for (const [name, { schema, object: given, result, reason }] of Object.entries(defaulted)) {
  test(`default: ${name}`, () => assert.deepEqual(applyDefaults(given, schema), result, reason));
}

test("nothing to do gives the object itself back, and input is never changed", () => {
  const deepFreeze = <T>(value: T): T => {
    if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
    return value;
  };
  for (const { schema, spec, stored: expected } of answers) {
    const root = deepFreeze({ type: "object", properties: { spec: schema } });
    stored(deepFreeze({ spec }), root);
    const settled = deepFreeze(expected === null ? {} : { spec: expected });
    assert.equal(stored(settled, root), settled, "storing again changes nothing");
  }
});

test("any value against any schema ends in a value", () => {
  fc.assert(
    fc.property(fc.object(), fc.object(), (value, schema) => {
      stored(value as JsonObject, schema as JsonObject);
    }),
  );
});
