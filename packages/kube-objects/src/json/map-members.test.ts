// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "./json-value.ts";
import { copying, copyOf, mapItems, mapMembers, removed } from "./map-members.ts";

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
