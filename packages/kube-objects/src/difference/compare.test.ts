// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "../json/index.ts";
import { compareValues } from "./compare.ts";

interface Row {
  readonly before: JsonValue;
  readonly after: JsonValue;
  readonly schema?: JsonObject;
  readonly want: readonly string[];
}

const byName: JsonObject = {
  properties: { list: { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], items: {} } },
};
const set: JsonObject = { properties: { list: { "x-kubernetes-list-type": "set" } } };
const atomic: JsonObject = { properties: { list: { items: {} } } };

const rows: Readonly<Record<string, Row>> = {
  "fields are compared one by one": {
    before: { a: { b: 1, c: 2 } },
    after: { a: { b: 1, c: 3 } },
    want: ["replace a.c"],
  },
  "keys that are not names are in brackets": {
    before: { annotations: {} },
    after: { annotations: { "example.org/key": "x" } },
    want: ["add annotations[example.org/key]"],
  },
  "absent and null are equal": { before: { a: null }, after: {}, want: [] },
  "an empty map is a value": { before: {}, after: { spec: {} }, want: ["add spec"] },
  "empty labels are dropped by the server": { before: { metadata: {} }, after: { metadata: { labels: {} } }, want: [] },
  "a map list in another order is equal": {
    before: {
      list: [
        { name: "a", v: 1 },
        { name: "b", v: 2 },
      ],
    },
    after: {
      list: [
        { name: "b", v: 2 },
        { name: "a", v: 1 },
      ],
    },
    schema: byName,
    want: [],
  },
  "a field of an item of a map list": {
    before: { list: [{ name: "a", v: 1 }] },
    after: { list: [{ name: "z" }, { name: "a", v: 2 }] },
    schema: byName,
    want: ["replace list[name=a].v", "add list[name=z]"],
  },
  "an atomic list in another order is a change": {
    before: { list: ["a", "b"] },
    after: { list: ["b", "a"] },
    schema: atomic,
    want: ["remove list[0]", "add list[1]"],
  },
  "a set in another order is equal": {
    before: { list: ["a", "b"] },
    after: { list: ["b", "a"] },
    schema: set,
    want: [],
  },
  "an integer beyond 2^53 is an item of a set": {
    before: { list: [9007199254740993n] },
    after: { list: [9007199254740995n] },
    schema: set,
    want: ["remove list[9007199254740993]", "add list[9007199254740995]"],
  },
  "a set shows added and removed values": {
    before: { list: ["a", "b"] },
    after: { list: ["b", "c"] },
    schema: set,
    want: ["remove list[a]", "add list[c]"],
  },
  "without a schema items are matched by a unique name": {
    before: { containers: [{ name: "app", image: "one" }] },
    after: { containers: [{ name: "sidecar" }, { name: "app", image: "two" }] },
    want: ["replace containers[name=app].image", "add containers[name=sidecar]"],
  },
  "one item of an atomic list": {
    before: { list: ["a", "b", "c"] },
    after: { list: ["a", "c"] },
    schema: atomic,
    want: ["remove list[1]"],
  },
  "quantities are compared by value": {
    before: { limits: { cpu: "1", memory: "1Gi" } },
    after: { limits: { cpu: "1000m", memory: "1024Mi" } },
    want: [],
  },
  "other quantities differ": {
    before: { limits: { cpu: "1" } },
    after: { limits: { cpu: "1100m" } },
    want: ["replace limits.cpu"],
  },
  "texts that look like quantities differ elsewhere": {
    before: { data: { cpu: "1" } },
    after: { data: { cpu: "1000m" } },
    want: ["replace data.cpu"],
  },
  "1 and 1.0 are one number": { before: { a: 1 }, after: JSON.parse('{"a": 1.0}') as JsonValue, want: [] },
  "names of JavaScript's own properties are plain names": {
    before: JSON.parse('{"__proto__": 1}') as JsonValue,
    after: {},
    want: ["remove __proto__"],
  },
};

for (const [name, { before, after, schema, want }] of Object.entries(rows)) {
  test(name, () => {
    assert.deepEqual(
      compareValues(before, after, schema).map(({ op, path }) => `${op} ${path}`),
      want,
    );
  });
}
