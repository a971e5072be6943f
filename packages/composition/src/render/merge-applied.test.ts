// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { mergeApplied } from "./memory-client.ts";

const map = (more: JsonObject = {}, metadata: JsonObject = {}): KubeObject =>
  ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", ...metadata }, ...more }) as KubeObject;

const rows: Readonly<
  Record<string, { reason: string; stored?: KubeObject; wanted: KubeObject; subresource?: string; want: KubeObject }>
> = {
  New: { reason: "what is not there is as wanted", wanted: map({ data: { x: "1" } }), want: map({ data: { x: "1" } }) },
  Objects: {
    reason: "objects merge, at every depth",
    stored: map({ data: { x: "1", y: "1" } }, { labels: { a: "b" } }),
    wanted: map({ data: { x: "2" } }, { labels: { c: "d" } }),
    want: map({ data: { x: "2", y: "1" } }, { labels: { a: "b", c: "d" } }),
  },
  Lists: {
    reason: "lists are replaced, and so is what changes its type",
    stored: map({ list: [1, 2], was: { a: 1 } }),
    wanted: map({ list: [3], was: "text" }),
    want: map({ list: [3], was: "text" }),
  },
  Status: {
    reason: "a subresource is replaced, and through it nothing else is taken",
    stored: map({ spec: { a: 1 }, status: { b: 1 } }),
    wanted: map({ spec: { a: 2 }, status: { c: 2 } }, { labels: { no: "way" } }),
    subresource: "status",
    want: map({ spec: { a: 1 }, status: { c: 2 } }),
  },
  Prototype: {
    reason: "a name that JavaScript has plans for is a name like any other",
    stored: map(JSON.parse('{"data":{"__proto__":"1"}}') as JsonObject),
    wanted: map(JSON.parse('{"data":{"__proto__":"2","constructor":"3"}}') as JsonObject),
    want: map(JSON.parse('{"data":{"__proto__":"2","constructor":"3"}}') as JsonObject),
  },
};

for (const [name, { reason, stored, wanted, subresource = "", want }] of Object.entries(rows)) {
  test(`merge applied, ${name}: ${reason}`, () => {
    const before = JSON.stringify(stored);
    assert.equal(JSON.stringify(mergeApplied(stored, wanted, subresource)), JSON.stringify(want));
    assert.equal(JSON.stringify(stored), before, "what is stored stays as it is");
  });
}

test("an object of very many members costs their number, not its square", () => {
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, "v"]));
  const merged = mergeApplied(map({ data: many }), map({ data: many }), "");
  assert.equal(Object.keys(merged["data"] as object).length, 100_000);
});
