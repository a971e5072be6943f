// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { deepFreeze } from "../object/kube-object.ts";
import {
  isJsonArray,
  isJsonObject,
  isNumber,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  jsonKind,
  ownValue,
  setOwnValue,
  withOwnValue,
  withoutOwnValue,
} from "./json-value.ts";
import { copying, copyOf, mapItems, mapMembers, removed } from "./map-members.ts";

/** An object with a member that has the name of the prototype. */
const withProto = (value: JsonValue): JsonObject =>
  JSON.parse(`{"__proto__":${JSON.stringify(value)},"a":1}`) as JsonObject;

test("the kinds of values", () => {
  const values: readonly (readonly [JsonValue, string])[] = [
    [null, "null"],
    [[], "array"],
    [{}, "object"],
    [true, "bool"],
    [1, "number"],
    [1n, "number"],
    ["", "string"],
  ];
  for (const [value, kind] of values) {
    assert.equal(jsonKind(value), kind);
    assert.deepEqual(
      [isJsonObject(value), isJsonArray(value), isNumber(value)],
      [kind === "object", kind === "array", kind === "number"],
      kind,
    );
  }
  assert.ok(!isJsonObject(undefined) && !isJsonArray(undefined) && !isNumber(undefined));
});

const equal: readonly (readonly [JsonValue, JsonValue])[] = [
  [null, null],
  [1, 1n],
  [2 ** 60, 2n ** 60n],
  [
    { a: 1, b: [1n] },
    { b: [1], a: 1 },
  ],
  [[], []],
  [withProto(1), withProto(1)],
];
const different: readonly (readonly [JsonValue, JsonValue])[] = [
  [null, {}],
  [null, false],
  [0, false],
  ["1", 1],
  [[], {}],
  [
    [1, 2],
    [2, 1],
  ],
  [[1], [1, 1]],
  [{ a: null }, {}],
  [{ a: 1 }, { b: 1 }],
  [{ a: { b: 1 } }, { a: { b: 2 } }],
  [2n ** 60n, 2n ** 60n + 1n],
  [withProto(1), { a: 1 }],
  [{ toString: 1 }, { a: 1 }],
];

test("values are equal by content, numbers by value", () => {
  for (const [index, [a, b]] of equal.entries()) assert.ok(jsonEqual(a, b) && jsonEqual(b, a), `row ${index}`);
  for (const [index, [a, b]] of different.entries()) assert.ok(!jsonEqual(a, b) && !jsonEqual(b, a), `row ${index}`);
});

test("members are own members, whatever their name", () => {
  assert.equal(ownValue({}, "toString"), undefined);
  assert.equal(ownValue({}, "__proto__"), undefined);
  assert.equal(ownValue(withProto(1), "__proto__"), 1);
  const object: Record<string, JsonValue> = {};
  setOwnValue(object, "__proto__", { polluted: true });
  assert.deepEqual(Object.keys(object), ["__proto__"]);
  assert.equal(object["polluted"], undefined);
});

test("copies with and without a member leave the object as it is", () => {
  const object = deepFreeze({ a: 1, b: 2 }) as JsonObject;
  assert.deepEqual(withOwnValue(object, "b", 3), { a: 1, b: 3 });
  assert.deepEqual(withoutOwnValue(object, "a"), { b: 2 });
  assert.equal(withoutOwnValue(object, "c"), object);
  assert.equal(withoutOwnValue(object, "toString"), object);
  assert.deepEqual(Object.keys(withOwnValue(withProto(1), "b", 2)), ["__proto__", "a", "b"]);
  assert.deepEqual(Object.keys(withoutOwnValue(withProto(1), "__proto__")), ["a"]);
});

test("an object whose members do not change is returned itself", () => {
  const object = deepFreeze({ a: 1, b: { c: 2 } }) as JsonObject;
  assert.equal(
    mapMembers(object, (value) => value),
    object,
  );
  assert.equal(mapMembers({}, () => removed) instanceof Object, true);
  const items = deepFreeze([1, 2]) as JsonValue[];
  assert.equal(
    mapItems(items, (value) => value),
    items,
  );
});

test("members are changed, removed and kept in their order", () => {
  const object = deepFreeze({ a: 1, b: 2, c: 3, d: 4 }) as JsonObject;
  const mapped = mapMembers(object, (value, key) => (key === "b" ? removed : key === "c" ? 30 : value));
  assert.deepEqual(Object.entries(mapped), [
    ["a", 1],
    ["c", 30],
    ["d", 4],
  ]);
  assert.deepEqual(
    mapMembers(object, () => removed),
    {},
  );
  assert.deepEqual(Object.keys(mapMembers(withProto(1), (value, key) => (key === "a" ? 2 : value))), [
    "__proto__",
    "a",
  ]);
});

test("items are changed in place of their own", () => {
  const items = deepFreeze([1, 2, 3]) as JsonValue[];
  assert.deepEqual(
    mapItems(items, (value, index) => (index === 1 ? 20 : value)),
    [1, 20, 3],
  );
  assert.deepEqual(items, [1, 2, 3]);
});

test("copies can be changed and have every member", () => {
  const object = deepFreeze({ ...withProto(1), b: [1] }) as JsonObject;
  for (const copy of [copyOf(object), finish(copying(object))]) {
    assert.deepEqual(Object.keys(copy), ["__proto__", "a", "b"]);
    copy["a"] = 2;
    assert.equal(object["a"], 1);
    assert.equal(copy["b"], object["b"], "members are shared");
  }
});
