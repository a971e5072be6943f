// SPDX-License-Identifier: Apache-2.0
// How lists are compared: by keys, as sets, item by item, and as sequences.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../json/index.ts";
import { compareValues, type FieldChange } from "./compare.ts";

const listOf = (more: JsonObject): JsonObject => ({ properties: { l: more } });
const changes = (
  before: readonly JsonValue[],
  after: readonly JsonValue[],
  list?: JsonObject,
): readonly FieldChange[] => compareValues({ l: before as JsonValue }, { l: after as JsonValue }, list && listOf(list));
const texts = (...args: Parameters<typeof changes>): readonly string[] =>
  changes(...args).map(({ op, path }) => `${op} ${path}`);

describe("values of changes", () => {
  test("an added field has a new value, a removed one an old value, a replaced one both", () => {
    assert.deepEqual(compareValues({ a: 1, b: 2 }, { b: 3, c: 4 }, undefined), [
      { path: "a", op: "remove", old: 1 },
      { path: "b", op: "replace", old: 2, new: 3 },
      { path: "c", op: "add", new: 4 },
    ]);
  });

  test("a value of another type is replaced as a whole", () => {
    assert.deepEqual(compareValues({ a: { b: 1 } }, { a: [1] }, undefined), [
      { path: "a", op: "replace", old: { b: 1 }, new: [1] },
    ]);
    assert.deepEqual(compareValues({ a: "1" }, { a: 1 }, undefined), [{ path: "a", op: "replace", old: "1", new: 1 }]);
  });

  test("a value that did not exist is added as a whole", () => {
    assert.deepEqual(compareValues(undefined, { a: { b: 1 } }, undefined), [
      { path: "", op: "add", new: { a: { b: 1 } } },
    ]);
    assert.deepEqual(compareValues({ a: 1 }, null, undefined), [{ path: "", op: "remove", old: { a: 1 } }]);
    assert.deepEqual(compareValues(null, undefined, undefined), []);
  });

  test("changes come in the order of the names", () => {
    assert.deepEqual(
      compareValues({ b: 1, a: 1 }, { c: 1, B: 1 }, undefined).map(({ path }) => path),
      ["B", "a", "b", "c"],
    );
  });
});

describe("maps that the server drops when they are empty", () => {
  for (const name of ["labels", "annotations", "finalizers", "ownerReferences"]) {
    test(`an empty metadata.${name} counts as absent`, () => {
      const empty: JsonValue = name === "labels" || name === "annotations" ? {} : [];
      assert.deepEqual(compareValues({ metadata: { [name]: empty } }, { metadata: {} }, undefined), []);
      assert.deepEqual(compareValues({ metadata: {} }, { metadata: { [name]: empty } }, undefined), []);
    });
  }

  test("elsewhere an empty map is a value", () => {
    assert.equal(compareValues({ metadata: { other: {} } }, { metadata: {} }, undefined).length, 1);
    assert.equal(
      compareValues({ spec: { metadata: { labels: {} } } }, { spec: { metadata: {} } }, undefined).length,
      1,
    );
  });

  test("a map with members is a value", () => {
    assert.equal(compareValues({ metadata: { labels: { a: "1" } } }, { metadata: {} }, undefined).length, 1);
  });
});

describe("lists with keys", () => {
  const byTwo: JsonObject = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"] };

  test("all keys name an item", () => {
    const before = [
      { port: 53, protocol: "UDP", v: 1 },
      { port: 53, protocol: "TCP", v: 1 },
    ];
    const after = [
      { port: 53, protocol: "TCP", v: 2 },
      { port: 53, protocol: "UDP", v: 1 },
    ];
    assert.deepEqual(texts(before, after, byTwo), ["replace l[port=53,protocol=TCP].v"]);
  });

  test("a key that is missing is empty", () => {
    assert.deepEqual(texts([{ port: 1 }], [{ port: 1, protocol: "" }], byTwo), ["add l[port=1,protocol=].protocol"]);
  });

  test("lists inside items are compared as the schema of the items says", () => {
    const items: JsonObject = { properties: { tags: { "x-kubernetes-list-type": "set" } } };
    const byName: JsonObject = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], items };
    assert.deepEqual(texts([{ name: "a", tags: ["x", "y"] }], [{ name: "a", tags: ["y", "x"] }], byName), []);
  });
});

describe("sets", () => {
  const set: JsonObject = { "x-kubernetes-list-type": "set" };

  test("items of different types are different", () => {
    assert.deepEqual(texts(["1", 2], [1, "2"], set), ["remove l[1]", "remove l[2]", "add l[1]", "add l[2]"]);
  });

  test("objects are the same in any order of their members", () => {
    assert.deepEqual(texts([{ a: 1, b: 2 }], [{ b: 2, a: 1 }], set), []);
    assert.deepEqual(texts([{ a: 1 }], [{ a: 2 }], set), ['remove l[{"a":1}]', 'add l[{"a":2}]']);
  });

  test("an item of 100,000 is found", () => {
    const items = Array.from({ length: 100_000 }, (_, index) => `item-${index}`);
    assert.deepEqual(texts(items, [...items.toReversed(), "new"], set), ["add l[new]"]);
  });
});

describe("lists without a schema", () => {
  for (const key of ["name", "key", "id", "type"]) {
    test(`items are known by a unique ${key}`, () => {
      const item = (value: string, v: number): JsonObject => ({ [key]: value, v });
      assert.deepEqual(texts([item("a", 1), item("b", 1)], [item("b", 2), item("a", 1)]), [`replace l[${key}=b].v`]);
    });
  }

  test("a name that two items share does not name them", () => {
    const twice = [
      { name: "a", key: "1" },
      { name: "a", key: "2" },
    ];
    assert.deepEqual(texts(twice, twice.toReversed()), [], "their keys do");
    const anonymous = [
      { name: "a", v: 1 },
      { name: "a", v: 2 },
    ];
    assert.deepEqual(texts(anonymous, anonymous.toReversed()), ["replace l[0].v", "replace l[1].v"]);
  });

  test("a name that is not a string does not name an item", () => {
    assert.deepEqual(texts([{ name: 1, v: 1 }], [{ name: 1, v: 2 }]), ["replace l[0].v"]);
  });

  test("a list of a custom resource without a type is compared by position", () => {
    assert.deepEqual(texts([{ name: "a" }, { name: "b" }], [{ name: "b" }, { name: "a" }], {}), [
      "replace l[0].name",
      "replace l[1].name",
    ]);
  });

  test("finalizers are a set", () => {
    const of = (...finalizers: string[]): JsonObject => ({ metadata: { finalizers } });
    assert.deepEqual(compareValues(of("a", "b"), of("b", "a"), undefined), []);
  });
});

describe("sequences", () => {
  const rows: readonly (readonly [before: string, after: string, ...changes: string[]])[] = [
    ["abc", "abc"],
    ["abc", "abcd", "add l[3]"],
    ["abc", "xabc", "add l[0]"],
    ["abc", "ac", "remove l[1]"],
    ["abc", "", "remove l[0]", "remove l[1]", "remove l[2]"],
    ["", "ab", "add l[0]", "add l[1]"],
    ["abc", "axc", "remove l[1]", "add l[1]"],
    ["aab", "ab", "remove l[1]"],
    ["abcd", "bd", "remove l[0]", "remove l[2]"],
  ];
  for (const [before, after, ...want] of rows) {
    test(`${before} to ${after}`, () => {
      assert.deepEqual(texts([...before], [...after], {}), want);
    });
  }

  test("a list of more than 400 items is replaced as a whole", () => {
    const items = (count: number): string[] => Array.from({ length: count }, (_, index) => `i${index}`);
    assert.deepEqual(texts(items(400), items(399), {}), ["remove l[399]"]);
    assert.deepEqual(texts(items(401), items(400), {}), ["replace l"]);
    assert.deepEqual(texts(items(1), items(401), {}), ["replace l"]);
  });

  test("objects in lists of different lengths are items as a whole", () => {
    assert.deepEqual(texts([{ v: 1 }], [{ v: 1 }, { v: 2 }], {}), ["add l[1]"]);
  });

  test("property: what is removed and added turns one list into the other", () => {
    const letters = fc.array(fc.constantFrom(..."abc"), { maxLength: 8 });
    fc.assert(
      fc.property(letters, letters, (before, after) => {
        const found = changes(before, after, {});
        const at = (op: string): Set<number> =>
          new Set(found.filter((one) => one.op === op).map(({ path }) => Number(/\[(\d+)\]/.exec(path)?.[1])));
        const kept = before.filter((_, index) => !at("remove").has(index));
        assert.deepEqual(
          kept,
          after.filter((_, index) => !at("add").has(index)),
        );
      }),
    );
  });
});

describe("quantities", () => {
  const compare = (before: JsonValue, after: JsonValue, schema?: JsonObject): number =>
    compareValues({ q: before }, { q: after }, schema && { properties: { q: schema } }).length;

  test("a field that takes integers and strings is compared by value", () => {
    const intOrString = { "x-kubernetes-int-or-string": true };
    assert.equal(compare("1Gi", "1024Mi", intOrString), 0);
    assert.equal(compare("1Gi", "1025Mi", intOrString), 1);
    assert.equal(compare("50%", "50.0%", intOrString), 1, "a percentage is not a quantity");
    assert.equal(compare("1Gi", "1024Mi"), 1, "a text is a text");
  });

  for (const name of ["limits", "requests", "capacity", "hard", "allocatable"]) {
    test(`members of ${name} are quantities`, () => {
      const of = (value: string): JsonObject => ({ spec: { [name]: { cpu: value, "example.org/gpu": value } } });
      assert.deepEqual(compareValues(of("1"), of("1000m"), undefined), []);
      assert.equal(compareValues(of("1"), of("1001m"), undefined).length, 2);
    });
  }
});
