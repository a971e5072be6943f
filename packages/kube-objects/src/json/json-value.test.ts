// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import fc from "fast-check";
import { deepFreeze } from "../object/kube-object.ts";
import {
  compareUtf8,
  copying,
  copyOf,
  isJsonArray,
  isJsonObject,
  isNumber,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  jsonKind,
  mapItems,
  mapMembers,
  ownValue,
  removed,
  setOwnValue,
  sortedKeys,
  utf8Length,
  withOwnValue,
  withoutOwnValue,
} from "./json-value.ts";

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

const smile = "\u{1F600}";
const sign = (value: number): number => Math.sign(value);

const ordered: readonly (readonly [string, string, string])[] = [
  ["the empty string is first", "", "a"],
  ["a prefix is before what it begins", "ab", "abc"],
  ["capital letters are before small ones", "Z", "a"],
  ["digits are ordered as text", "10", "9"],
  ["two bytes are after one", "z", "ä"],
  ["the last character before the surrogates is before U+E000", "\ud7ff", "\ue000"],
  ["a character outside the basic plane is after U+E000", "\ue000", smile],
  ["a character outside the basic plane is after U+FFFF", "\uffff", smile],
  ["the difference comes after an equal part with such a character", `${smile}a`, `${smile}b`],
  ["characters outside the basic plane are ordered by code points", "\u{10000}", "\u{10FFFF}"],
];
for (const [name, first, second] of ordered) {
  test(`order of UTF-8 bytes: ${name}`, () => {
    assert.equal(sign(compareUtf8(first, second)), -1);
    assert.equal(sign(compareUtf8(second, first)), 1);
    assert.equal(compareUtf8(first, first), 0);
  });
}

test("property: the order is that of the bytes", () => {
  const text = fc.string({ unit: "binary" });
  fc.assert(
    fc.property(text, text, (a, b) => {
      assert.equal(sign(compareUtf8(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});

test("keys are sorted by bytes, those that look like integers too, and the object is not changed", () => {
  const object = Object.freeze({ b: 1, [smile]: 2, "\uffff": 3, 10: 4, 9: 5, a: 6 });
  assert.deepEqual(sortedKeys(object), ["10", "9", "a", "b", "\uffff", smile]);
  assert.deepEqual(sortedKeys(JSON.parse('{"b":1,"__proto__":2}') as object), ["__proto__", "b"]);
  assert.deepEqual(sortedKeys([]), []);
});

test("the length is that in bytes", () => {
  const lengths = ["", "a", "ä", "€", smile, "e\u0301"].map(utf8Length);
  assert.deepEqual(lengths, [0, 1, 2, 3, 4, 3]);
});

const parsed = (text: string): JsonObject => Object.freeze(JSON.parse(text) as JsonObject);

test("an object whose members do not change is returned itself", () => {
  const object = parsed('{"a":1,"b":{"c":2}}');
  assert.equal(
    mapMembers(object, (value) => value),
    object,
  );
  const empty = parsed("{}");
  assert.equal(
    mapMembers(empty, () => removed),
    empty,
  );
});

const changes: Readonly<Record<string, { change: Record<string, JsonValue | typeof removed>; want: string }>> = {
  "the first member": { change: { a: 9 }, want: '{"a":9,"b":2,"c":3}' },
  "a member in the middle": { change: { b: 9 }, want: '{"a":1,"b":9,"c":3}' },
  "the last member": { change: { c: null }, want: '{"a":1,"b":2,"c":null}' },
  "the first member is removed": { change: { a: removed }, want: '{"b":2,"c":3}' },
  "the last member is removed": { change: { c: removed }, want: '{"a":1,"b":2}' },
  "one is removed and a later one changes": { change: { a: removed, c: 9 }, want: '{"b":2,"c":9}' },
  "one changes and a later one is removed": { change: { a: 9, c: removed }, want: '{"a":9,"b":2}' },
  "all members are removed": { change: { a: removed, b: removed, c: removed }, want: "{}" },
};
for (const [name, { change, want }] of Object.entries(changes)) {
  test(`members are mapped in their order: ${name}`, () => {
    const object = parsed('{"a":1,"b":2,"c":3}');
    const mapped = mapMembers(object, (value, key) => change[key] ?? (key in change ? null : value));
    assert.equal(JSON.stringify(mapped), want);
    assert.equal(JSON.stringify(object), '{"a":1,"b":2,"c":3}');
  });
}

test("members that do not change keep their identity", () => {
  const object = parsed('{"a":{"x":1},"b":2}');
  assert.equal(mapMembers(object, (value, key) => (key === "b" ? 3 : value))["a"], object["a"]);
});

test("each member is seen once, with its key", () => {
  const seen: string[] = [];
  mapMembers(parsed('{"b":1,"a":2}'), (value, key) => {
    seen.push(`${key}=${value}`);
    return removed;
  });
  assert.deepEqual(seen, ["b=1", "a=2"]);
});

test("a member named __proto__ is a member like others", () => {
  const object = parsed('{"__proto__":{"x":1},"a":1,"constructor":2}');
  const mapped = mapMembers(object, (value, key) => (key === "a" ? 5 : value));
  assert.equal(JSON.stringify(mapped), '{"__proto__":{"x":1},"a":5,"constructor":2}');
  const changed = mapMembers(object, (value, key) => (key === "__proto__" ? 7 : value));
  assert.equal(JSON.stringify(changed), '{"__proto__":7,"a":1,"constructor":2}');
  assert.equal(Object.getPrototypeOf(changed), Object.prototype);
});

test("an array whose items do not change is returned itself", () => {
  const items = Object.freeze([1, null, "x"]);
  assert.equal(
    mapItems(items, (value) => value),
    items,
  );
});

test("items are mapped by value and index into a new array", () => {
  const items = Object.freeze([10, 20, 30]);
  assert.deepEqual(
    mapItems(items, (value, index) => (index === 1 ? Number(value) + index : value)),
    [10, 21, 30],
  );
  assert.deepEqual(
    mapItems(items, (_, index) => index),
    [0, 1, 2],
  );
  assert.deepEqual(items, [10, 20, 30]);
});

test("a copy has the same members in the same order and can be changed", () => {
  const object = parsed('{"b":{"x":1},"__proto__":{"y":2},"a":1}');
  const work = copying(object);
  let step = work.next();
  while (!step.done) step = work.next();
  for (const copy of [copyOf(object), step.value]) {
    assert.equal(JSON.stringify(copy), JSON.stringify(object));
    assert.equal(copy["b"], object["b"], "values are shared");
    assert.equal(Object.getPrototypeOf(copy), Object.prototype);
    copy["a"] = 2;
  }
  assert.equal(object["a"], 1);
});
