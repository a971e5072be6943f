// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../json/json-value.ts";
import { bracketedText, fieldPlace, indexPlace, keyPlace, placeText } from "./finding.ts";
import { isNestedDeeperThan, maxNesting } from "./nesting.ts";
import { walkStructure } from "./structural-walk.ts";

test("a walk comes to what the schema specifies, outside in", () => {
  const schema: JsonObject = {
    properties: { l: { items: { items: {} } }, m: { additionalProperties: { properties: { x: {} } } }, free: {} },
    allOf: [{ properties: { other: {} } }],
  };
  const seen: string[] = [];
  walkStructure({ l: [[1], 2], m: { k: { x: {}, y: {} } }, other: {}, free: { deep: { er: 1 } } }, schema, {
    list: (items, _, place) => seen.push(`${bracketedText(place)}: ${items.length} items`),
    object: (_, __, place) => seen.push(`${bracketedText(place)}: object`),
  });
  assert.deepEqual(seen, [
    ": object",
    "l: 2 items",
    "l[0]: 1 items",
    "m: object",
    "m[k]: object",
    "m[k].x: object",
    "free: object",
  ]);
});

test("a walk ends at the depth that can be walked", () => {
  let value: unknown = [];
  let schema: JsonObject = {};
  for (let i = 0; i < 5_000; i++) {
    value = [value];
    schema = { items: schema };
  }
  let lists = 0;
  walkStructure(value, schema, { list: () => lists++ });
  assert.equal(lists, maxNesting);
});

test("places print in two ways", () => {
  const place = fieldPlace(indexPlace(keyPlace(fieldPlace(undefined, "spec"), "k"), 3), "x");
  assert.equal(placeText(place), "spec.k[3].x");
  assert.equal(bracketedText(place), "spec[k][3].x");
  assert.equal(placeText(keyPlace(undefined, "k")), ".k");
  assert.equal(bracketedText(keyPlace(undefined, "k")), "[k]");
  assert.equal(placeText(undefined), "");
});

test("depth counts lists and objects", () => {
  assert.ok(!isNestedDeeperThan(5, 0));
  assert.ok(isNestedDeeperThan({}, 0));
  assert.ok(!isNestedDeeperThan([{ a: [] }], 3));
  assert.ok(isNestedDeeperThan([{ a: [] }], 2));
});

test("shared and circular parts are measured without walking them again and again", () => {
  let shared: object = {};
  for (let i = 0; i < 100; i++) shared = { a: shared, b: shared };
  assert.ok(!isNestedDeeperThan(shared, 101));
  assert.ok(isNestedDeeperThan(shared, 100));
  const circle: { self?: object } = {};
  circle.self = [circle, circle];
  assert.ok(isNestedDeeperThan(circle, maxNesting));
});
