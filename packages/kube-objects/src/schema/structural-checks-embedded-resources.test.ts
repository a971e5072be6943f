// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { checkEmbeddedResources } from "./structural-checks.ts";

const embedded: JsonObject = { type: "object", "x-kubernetes-embedded-resource": true };
const pod = { apiVersion: "v1", kind: "Pod" };

const rows: Record<string, { reason: string; value: JsonValue; want: string[] }> = {
  Proper: { reason: "says what it is", value: { ...pod, metadata: { name: "x", labels: { a: "b" } } }, want: [] },
  NoMetadata: { reason: "needs no metadata", value: pod, want: [] },
  NamelessMetadata: { reason: "and no name in it", value: { ...pod, metadata: { creationTimestamp: null } }, want: [] },
  Nothing: {
    reason: "must say what it is",
    value: {},
    want: ["t.apiVersion: Required value", "t.kind: Required value"],
  },
  Types: {
    reason: "in strings",
    value: { apiVersion: 5, kind: null },
    want: ["t.apiVersion: Invalid value: 5: must be a string", "t.kind: Invalid value: null: must be a string"],
  },
  Empty: {
    reason: "that are not empty",
    value: { apiVersion: "", kind: "" },
    want: ['t.apiVersion: Invalid value: "": must not be empty', 't.kind: Invalid value: "": must not be empty'],
  },
  Malformed: {
    reason: "and well formed",
    value: { apiVersion: "a/b/c", kind: "Pod" },
    want: ['t.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
  },
  AnyName: {
    reason: "the kind is unknown, so any name that fits a path will do",
    value: { ...pod, metadata: { name: "A:b_C" } },
    want: [],
  },
  BadName: {
    reason: "but only those",
    value: { ...pod, metadata: { name: "a/b" } },
    want: [`t.metadata.name: Invalid value: "a/b": may not contain '/'`],
  },
  NotAnObject: { reason: "not an object: nothing to check", value: "x", want: [] },
};

for (const [name, { reason, value, want }] of Object.entries(rows)) {
  test(`an embedded resource, ${name}: ${reason}`, () => {
    const found = checkEmbeddedResources({ t: value }, { properties: { t: embedded } });
    assert.deepEqual(
      found.map(({ field, body }) => `${field}: ${body}`),
      want,
    );
  });
}

test("metadata of wrong types is named", () => {
  const [found] = checkEmbeddedResources(
    { t: { ...pod, metadata: { labels: { a: 5 } } } },
    { properties: { t: embedded } },
  );
  assert.equal(found?.field, "t.metadata");
  const problem = "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string";
  assert.equal(found.body, `Invalid value: {"labels":{"a":5}}: ${problem}`);
});

test("resources are found in lists, maps and each other; elsewhere nothing is asked", () => {
  const schema: JsonObject = {
    properties: {
      l: { items: embedded },
      m: { additionalProperties: embedded },
      o: { ...embedded, properties: { inner: embedded } },
      plain: { type: "object" },
    },
  };
  const value = { l: [pod, {}], m: { k: {} }, o: { ...pod, inner: {} }, plain: {} };
  const fields = checkEmbeddedResources(value, schema).map(({ field }) => field);
  assert.deepEqual(fields, [
    ...["l[1].apiVersion", "l[1].kind", "m[k].apiVersion", "m[k].kind", "o.inner.apiVersion", "o.inner.kind"],
  ]);
});

test("a schema with integers beyond 2^53 is searched for resources", () => {
  const huge = { type: "integer", maximum: 9223372036854775807n, default: 9007199254740993n };
  assert.deepEqual(checkEmbeddedResources({ n: 1, t: {} }, { properties: { n: huge } }), []);
  const found = checkEmbeddedResources({ n: 1, t: {} }, { properties: { n: huge, t: embedded } });
  assert.deepEqual(
    found.map(({ field }) => field),
    ["t.apiVersion", "t.kind"],
  );
});

test("a default that looks like a declaration is not one", () => {
  const schema: JsonObject = {
    properties: { t: { type: "object", default: { "x-kubernetes-embedded-resource": true } } },
  };
  assert.deepEqual(checkEmbeddedResources({ t: {} }, schema), []);
});
