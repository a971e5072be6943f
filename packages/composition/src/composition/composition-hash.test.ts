// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import fc from "fast-check";
import { hashOf } from "./revisions-controller.ts";

const json = fc.jsonValue() as fc.Arbitrary<JsonValue>;
const content = (spec: JsonValue): Parameters<typeof hashOf>[0] => ({ labels: {}, annotations: {}, spec: { spec } });

function reversed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as JsonObject)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
}

test("the order of keys does not matter", () => {
  fc.assert(fc.property(json, (value) => hashOf(content(value)) === hashOf(content(reversed(value)))));
});

test("any difference does", () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      const same = JSON.stringify(reversed(reversed(a))) === JSON.stringify(reversed(reversed(b)));
      fc.pre(!same && JSON.stringify(reversed(a)) !== JSON.stringify(b));
      try {
        assert.deepEqual(a, b);
        return true;
      } catch {
        return hashOf(content(a)) !== hashOf(content(b));
      }
    }),
  );
});

test("what is a label is not what is an annotation", () => {
  const labelled = hashOf({ labels: { a: "b" }, annotations: {}, spec: {} });
  assert.notEqual(labelled, hashOf({ labels: {}, annotations: { a: "b" }, spec: {} }));
});
