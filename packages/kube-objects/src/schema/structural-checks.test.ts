// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import fc from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { bracketedText, fieldPlace, indexPlace, keyPlace, placeText } from "./outcome.ts";
import { checkingListTypes, checkListTypes, walkStructure } from "./structural-checks.ts";
import { isNestedDeeperThan, maxNesting } from "./value-kind.ts";

const listOf = (type: string, keys: string[] = []): JsonObject => ({
  properties: { l: { items: { type: "object" }, "x-kubernetes-list-type": type, "x-kubernetes-list-map-keys": keys } },
});
const texts = (l: JsonValue, schema: JsonObject): string[] =>
  checkListTypes({ l }, schema).map(({ field, body }) => `${field}: ${body}`);

const rows: Record<string, { reason: string; schema: JsonObject; list: JsonValue; want: string[] }> = {
  Unique: { reason: "nothing twice", schema: listOf("set"), list: ["a", "b", 1, "1", null, true, "true"], want: [] },
  Twice: {
    reason: "the second is reported",
    schema: listOf("set"),
    list: ["a", "b", "a"],
    want: ['l[2]: Duplicate value: "a"'],
  },
  Often: { reason: "and no other", schema: listOf("set"), list: [1, 1, 1, 1], want: ["l[1]: Duplicate value: 1"] },
  Objects: {
    reason: "objects are equal in any order of keys",
    schema: listOf("set"),
    list: [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    want: ['l[1]: Duplicate value: {"a":1,"b":2}'],
  },
  Numbers: {
    reason: "1 and 1.0 are the same number",
    schema: listOf("set"),
    list: [1, 1.0],
    want: ["l[1]: Duplicate value: 1"],
  },
  Nulls: {
    reason: "null is a value",
    schema: listOf("set"),
    list: [null, null],
    want: ["l[1]: Duplicate value: null"],
  },
  Atomic: { reason: "nothing is asked of atomic lists", schema: listOf("atomic"), list: [1, 1], want: [] },
  NoType: { reason: "nor of others", schema: { properties: { l: {} } }, list: [1, 1], want: [] },
  OneKey: {
    reason: "one key decides",
    schema: listOf("map", ["k"]),
    list: [
      { k: "a", x: 1 },
      { k: "a", x: 2 },
    ],
    want: ['l[1]: Duplicate value: {"k":"a"}'],
  },
  KeyTypes: {
    reason: "keys of different types differ",
    schema: listOf("map", ["k"]),
    list: [{ k: "1" }, { k: 1 }, { k: null }, {}],
    want: [],
  },
  MissingKey: {
    reason: "a missing key is a key",
    schema: listOf("map", ["k"]),
    list: [{}, { x: 1 }],
    want: ["l[1]: Duplicate value: {}"],
  },
  TwoKeys: {
    reason: "two keys decide together",
    schema: listOf("map", ["k", "p"]),
    list: [
      { k: "a", p: 1 },
      { k: "a", p: 2 },
      { k: "b", p: 1 },
    ],
    want: [],
  },
  NoConfusion: {
    reason: "what is in one key cannot look like what is in two",
    schema: listOf("map", ["k", "p"]),
    list: [
      { k: 'a","b', p: "c" },
      { k: "a", p: 'b","c' },
    ],
    want: [],
  },
  Stranger: {
    reason: "an item that is not an object stops the check of its list",
    schema: listOf("map", ["k"]),
    list: [{ k: 1 }, "x", { k: 1 }],
    want: ['l[1]: Invalid value: "x": must be an object for an array of list-type map'],
  },
  Prototype: {
    reason: "inherited members are not keys",
    schema: listOf("map", ["toString"]),
    list: [{ toString: "a" }, {}],
    want: [],
  },
};

for (const [name, { reason, schema, list, want }] of Object.entries(rows)) {
  test(`list types, ${name}: ${reason}`, () => assert.deepEqual(texts(list, schema), want));
}

test("a set is reported exactly when a JavaScript set would be smaller", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.nat(5), fc.constantFrom("1", "2", "a"), fc.boolean())), (list) => {
      const repeated = new Set(list.filter((item, index) => list.indexOf(item) !== index));
      assert.equal(texts(list, listOf("set")).length, repeated.size);
    }),
  );
});

test("a walk comes to what the schema specifies, outside in", () => {
  const schema: JsonObject = {
    properties: { l: { items: { items: {} } }, m: { additionalProperties: { properties: { x: {} } } }, free: {} },
    allOf: [{ properties: { other: {} } }],
  };
  const seen: string[] = [];
  const value = { l: [[1], 2], m: { k: { x: {}, y: {} } }, other: {}, free: { deep: { er: 1 } } };
  const walk = walkStructure(value, schema, {
    holders: undefined,
    *list(items, _, place) {
      yield;
      seen.push(`${bracketedText(place)}: ${items.length} items`);
    },
    object: (_, __, place) => seen.push(`${bracketedText(place)}: object`),
  });
  finish(walk);
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

/** The parts of a schema with a set in them. */
function holdersOf(schema: JsonObject): Set<JsonObject> {
  const parts = Object.values(schema).filter(isJsonObject);
  const inside = parts.flatMap((part) => [...holdersOf(part)]);
  return new Set(JSON.stringify(schema).includes('"set"') ? [schema, ...inside] : inside);
}

test("a walk leaves out what holds nothing for it", () => {
  const set = { items: {}, "x-kubernetes-list-type": "set" };
  const schema: JsonObject = {
    properties: { m: { additionalProperties: { items: { properties: { s: set, other: { items: {} } } } } }, free: {} },
  };
  const seen: string[] = [];
  const value = { m: { k: [{ s: [1, 1], other: [[]] }] }, free: [1] };
  const walk = walkStructure(value, schema, {
    holders: holdersOf(schema),
    *list(_, __, place) {
      yield;
      seen.push(bracketedText(place));
    },
  });
  finish(walk);
  assert.deepEqual(seen, ["m[k]", "m[k][0].s"]);
  for (const findings of [checkListTypes(value, schema), finish(checkingListTypes(value, schema))]) {
    assert.deepEqual(
      findings.map(({ field }) => field),
      ["m[k][0].s[1]"],
      "a set inside lists and maps of objects is found",
    );
  }
});

test("a walk ends at the depth that can be walked", () => {
  let value: unknown = [];
  let schema: JsonObject = {};
  for (let i = 0; i < 5_000; i++) {
    value = [value];
    schema = { items: schema };
  }
  let lists = 0;
  const walk = walkStructure(value, schema, {
    holders: undefined,
    *list() {
      lists++;
      yield;
    },
  });
  finish(walk);
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
