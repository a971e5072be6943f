// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "@purlin/kube-objects/schema";
import { unbounded } from "../library/costs.ts";
import { CostTotal, childPlaces, costMessage, multiplyCost, rootPlace, type SchemaPlace } from "./schema-places.ts";

const text: Schema = { type: "string" };
const list = (items: Schema, more: Schema = {}): Schema => ({ type: "array", items, ...more });

/** All places of a schema, by path. */
function places(schema: Schema): ReadonlyMap<string, SchemaPlace> {
  const found = new Map<string, SchemaPlace>();
  const todo = [rootPlace(schema, "s")];
  for (let place = todo.shift(); place; place = todo.shift()) {
    found.set(place.path, place);
    todo.push(...childPlaces(place, () => true));
  }
  return found;
}

const counts = (schema: Schema): Readonly<Record<string, bigint | undefined>> =>
  Object.fromEntries([...places(schema)].map(([path, { count }]) => [path, count]));

test("places are looked at in the order of the API server", () => {
  const schema: Schema = {
    type: "object",
    properties: { b: text, a: text },
    additionalProperties: text,
    not: text,
    anyOf: [text],
    oneOf: [text],
    allOf: [text, text],
    items: text,
  };
  assert.deepEqual(
    [...places(schema).keys()],
    [
      "s",
      "s.additionalProperties",
      "s.properties[b]",
      "s.properties[a]",
      "s.not",
      "s.allOf[0]",
      "s.allOf[1]",
      "s.oneOf[0]",
      "s.anyOf[0]",
      "s.items",
    ],
  );
});

test("the bounds of lists and maps around a place multiply", () => {
  const inner = list(text, { maxItems: 3 });
  const schema: Schema = {
    type: "object",
    properties: {
      l: list(inner, { maxItems: 5 }),
      m: { type: "object", maxProperties: 7, additionalProperties: inner },
      n: list(inner),
    },
  };
  const found = counts(schema);
  assert.equal(found["s.properties[l]"], 1n);
  assert.equal(found["s.properties[l].items"], 5n);
  assert.equal(found["s.properties[l].items.items"], 15n);
  assert.equal(found["s.properties[m].additionalProperties.items"], 21n);
  assert.equal(found["s.properties[n].items"], undefined);
  assert.equal(found["s.properties[n].items.items"], undefined);
});

test("a negative bound counts as 0, and a product stays within 64 bits", () => {
  assert.equal(counts(list(text, { maxItems: -1 }))["s.items"], 0n);
  const huge = list(list(text, { maxItems: 2n ** 62n }), { maxItems: 2n ** 62n });
  assert.equal(counts(huge)["s.items.items"], unbounded);
});

test("below a list that is not of type map, elements have no old value", () => {
  const item: Schema = { type: "object", properties: { a: text } };
  const within = (schema: Schema, path: string): string | undefined => places(schema).get(path)?.uncorrelated;
  assert.equal(within(list(item), "s"), undefined);
  assert.equal(within(list(item), "s.items"), "s");
  assert.equal(within(list(item), "s.items.properties[a]"), "s");
  assert.equal(within(list(item, { "x-kubernetes-list-type": "set" }), "s.items"), "s");
  assert.equal(within(list(item, { "x-kubernetes-list-type": "map" }), "s.items.properties[a]"), undefined);
  assert.equal(within(list(list(item)), "s.items.items"), "s");
});

test("expressions see places that are declared, and none below allOf and the like", () => {
  const found = places({ type: "object", properties: { a: text }, allOf: [{ properties: { a: text } }] });
  assert.equal(found.get("s")?.decl?.()?.kind, "object");
  assert.equal(found.get("s.properties[a]")?.decl?.()?.kind, "scalar");
  assert.equal(found.get("s.allOf[0]")?.decl, undefined);
  assert.equal(found.get("s.allOf[0].properties[a]")?.decl, undefined);
});

test("a place that its parent does not show is seen by itself", () => {
  const found = places({ type: "object", properties: { $a: text }, additionalProperties: text });
  assert.equal(found.get("s.properties[$a]")?.decl?.()?.kind, "scalar");
});

test("places have their depth", () => {
  assert.deepEqual(
    [...places(list(list(text))).values()].map(({ depth }) => depth),
    [0, 1, 2],
  );
});

const help =
  "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

test("a cost over its limit is named with its factor", () => {
  const factor = (cost: bigint): string => costMessage("cost", cost, 1000n);
  assert.equal(factor(1001n), `cost exceeds budget by factor of 1.001000x ${help}`);
  assert.equal(factor(1499n), `cost exceeds budget by factor of 1.499000x ${help}`);
  assert.equal(factor(1500n), `cost exceeds budget by factor of 1.5x ${help}`);
  assert.equal(factor(100_000n), `cost exceeds budget by factor of 100.0x ${help}`);
  assert.equal(factor(100_001n), `cost exceeds budget by factor of more than 100x ${help}`);
  assert.equal(multiplyCost(2n ** 40n, 2n ** 40n), unbounded);
});

test("the rules of a schema together may cost 100 million", () => {
  const total = new CostTotal();
  total.add("a", 100_000_000n);
  assert.deepEqual(total.errors("s"), []);
  total.add("b", 1n);
  const texts = total.errors("s").map(({ field, body }) => `${field}: ${body}`);
  const contributed = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
  const whole = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
  assert.deepEqual(texts, [
    `a: Forbidden: ${contributed}`,
    `s: Forbidden: ${whole} exceeds budget by factor of 1.000000x ${help}`,
  ]);
});

test("the four most expensive rules are named, none below a hundredth of the limit", () => {
  const total = new CostTotal();
  const costs = { a: 999_999n, b: 1_000_000n, c: 90_000_000n, d: 30_000_000n, e: 2_000_000n, f: 3_000_000n };
  for (const [path, cost] of Object.entries(costs)) total.add(path, cost);
  assert.deepEqual(
    total.errors("s").map(({ field }) => field),
    ["c", "d", "f", "e", "s"],
  );
});
