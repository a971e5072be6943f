// SPDX-License-Identifier: Apache-2.0
// Which values have rules, in which order, with which old value, and which of them an update left unchanged.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Schema } from "@purlin/kube-objects/schema";
import { collectPlaces, isUnchanged } from "./places.ts";
import { createRuleSet } from "./rule-set.ts";

const rules: Schema = { "x-kubernetes-validations": [{ rule: "true" }] };
const text: Schema = { type: "string", ...rules };
const object = (properties: Readonly<Record<string, Schema>>, more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...more,
});
const mapList = (items: Schema, keys: string[] = ["k"]): Schema => ({
  type: "array",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": keys,
  items,
});
const item: Schema = object({ k: { type: "string" }, v: { type: "integer" } }, rules);

interface Found {
  readonly path: string;
  readonly oldValue: unknown;
  readonly unchanged: boolean;
}

function find(schema: Schema, value: unknown, oldValue?: unknown): readonly Found[] {
  const set = createRuleSet(schema) ?? assert.fail("the schema has rules");
  const places = collectPlaces(set, { path: "", value, oldValue });
  return places.map((place) => ({ path: place.path, oldValue: place.oldValue, unchanged: isUnchanged(place) }));
}

const paths = (schema: Schema, value: unknown): readonly string[] => find(schema, value).map(({ path }) => path);

describe("places", () => {
  test("a value comes before what is inside it, members in the order of the object", () => {
    const schema = object({ a: text, b: object({ c: text }, rules) }, rules);
    assert.deepEqual(paths(schema, { b: { c: "1" }, a: "2" }), ["", "b", "b.c", "a"]);
  });

  test("a value without rules of its own is passed on the way down", () => {
    assert.deepEqual(paths(object({ a: object({ b: text }) }), { a: { b: "x" } }), ["a.b"]);
  });

  test("elements are named by their index", () => {
    const schema = object({ l: { type: "array", items: text } });
    assert.deepEqual(paths(schema, { l: ["x", "y"] }), ["l[0]", "l[1]"]);
  });

  test("entries of a map are named by their key in brackets", () => {
    const schema = object({ m: { type: "object", additionalProperties: text } });
    assert.deepEqual(paths(schema, { m: { "a.b": "x", c: "y" } }), ["m[a.b]", "m[c]"]);
  });

  test("a missing, null or undefined value has no place, and nothing inside it has one", () => {
    const schema = object({ a: object({ b: text }, rules) });
    assert.deepEqual(paths(schema, {}), []);
    assert.deepEqual(paths(schema, { a: null }), []);
    assert.deepEqual(paths(schema, { a: undefined }), []);
  });

  test("a null element of a list is passed over, and keeps the index of the next", () => {
    assert.deepEqual(paths(object({ l: { type: "array", items: text } }), { l: [null, "y"] }), ["l[1]"]);
  });

  test("a value of the wrong type has its own place and none below it", () => {
    const schema = object({ a: object({ b: text }, rules), l: { type: "array", items: text, ...rules } });
    assert.deepEqual(paths(schema, { a: "text", l: { 0: "x" } }), ["a", "l"]);
  });

  test("a field that the schema does not declare has no place", () => {
    assert.deepEqual(paths(object({ a: text }), { b: "x", a: "y" }), ["a"]);
  });

  test("a member called like one of every object is data", () => {
    const schema = object({ toString: text, constructor: text });
    assert.deepEqual(paths(schema, {}), []);
    assert.deepEqual(paths(schema, JSON.parse('{"constructor":"x"}')), ["constructor"]);
  });

  test("rules of a part of allOf are run after those of the node, at the same path", () => {
    const schema = object({ a: { ...text, allOf: [rules, rules] } });
    assert.deepEqual(paths(schema, { a: "x" }), ["a", "a", "a"]);
  });

  test("rules inside a part of allOf are run at the values that the part describes", () => {
    const schema = { ...object({ a: text }), allOf: [{ properties: { a: rules } }] };
    assert.deepEqual(paths(schema, { a: "x" }), ["a", "a"]);
  });

  test("the path of the start precedes all others", () => {
    const set = createRuleSet(object({ a: text }, rules)) ?? assert.fail("the schema has rules");
    const places = collectPlaces(set, { path: "spec.forProvider", value: { a: "x" }, oldValue: undefined });
    assert.deepEqual(
      places.map(({ path }) => path),
      ["spec.forProvider", "spec.forProvider.a"],
    );
  });
});

describe("the old value", () => {
  const olds = (schema: Schema, value: unknown, oldValue: unknown): Readonly<Record<string, unknown>> =>
    Object.fromEntries(find(schema, value, oldValue).map(({ path, oldValue: old }) => [path, old]));

  test("a field has the old value of its name", () => {
    assert.deepEqual(olds(object({ a: text, b: text }), { a: "1", b: "2" }, { a: "0" }), { a: "0", b: undefined });
  });

  test("an entry of a map has the old value of its key", () => {
    const schema = object({ m: { type: "object", additionalProperties: text } });
    assert.deepEqual(olds(schema, { m: { x: "1", y: "2" } }, { m: { y: "0", z: "3" } }), {
      "m[x]": undefined,
      "m[y]": "0",
    });
  });

  test("an element of a list of type map has the old element of its key, wherever that was", () => {
    const schema = object({ l: mapList(item) });
    const found = olds(
      schema,
      {
        l: [
          { k: "b", v: 2 },
          { k: "c", v: 3 },
        ],
      },
      {
        l: [
          { k: "a", v: 0 },
          { k: "b", v: 1 },
        ],
      },
    );
    assert.deepEqual(found, { "l[0]": { k: "b", v: 1 }, "l[1]": undefined });
  });

  test("all keys of an element have to be the same", () => {
    const pair = object({ k: { type: "string" }, n: { type: "integer" } }, rules);
    const schema = object({ l: mapList(pair, ["k", "n"]) });
    const found = olds(
      schema,
      {
        l: [
          { k: "a", n: 1 },
          { k: "a", n: 2 },
        ],
      },
      {
        l: [
          { k: "a", n: 2 },
          { k: "b", n: 1 },
        ],
      },
    );
    assert.deepEqual(found, { "l[0]": undefined, "l[1]": { k: "a", n: 2 } });
  });

  test("a number and a string with its digits are different keys", () => {
    const schema = object({ l: mapList(object({ k: { "x-kubernetes-int-or-string": true } }, rules)) });
    assert.deepEqual(olds(schema, { l: [{ k: "1" }] }, { l: [{ k: 1 }] }), { "l[0]": undefined });
  });

  test("of old elements with the same key the first one counts", () => {
    const schema = object({ l: mapList(item) });
    const old = {
      l: [
        { k: "a", v: 1 },
        { k: "a", v: 2 },
      ],
    };
    assert.deepEqual(olds(schema, { l: [{ k: "a", v: 3 }] }, old), { "l[0]": { k: "a", v: 1 } });
  });

  test("an element without a key, or with a key that is an object, has no old value", () => {
    const schema = object({ l: mapList(item) });
    const elements = { l: [{ v: 1 }, { k: { x: 1 } }, "text"] };
    assert.deepEqual(olds(schema, elements, elements), { "l[0]": undefined, "l[1]": undefined, "l[2]": undefined });
  });

  for (const type of ["atomic", "set", undefined]) {
    test(`elements of a list of type ${type} have no old value`, () => {
      const list: Schema = { type: "array", items: text, ...(type && { "x-kubernetes-list-type": type }) };
      assert.deepEqual(olds(object({ l: list }), { l: ["x"] }, { l: ["x"] }), { "l[0]": undefined });
    });
  }

  test("an old value of another type has no members", () => {
    const schema = object({ a: object({ b: text }), l: mapList(item) });
    const found = olds(schema, { a: { b: "1" }, l: [{ k: "a" }] }, { a: "text", l: { 0: { k: "a" } } });
    assert.deepEqual(found, { "a.b": undefined, "l[0]": undefined });
  });
});

describe("what an update left unchanged", () => {
  const unchanged = (schema: Schema, value: unknown, oldValue: unknown): readonly string[] =>
    find(schema, value, oldValue)
      .filter((place) => place.unchanged)
      .map(({ path }) => path || "<root>");

  test("a value that is the same is unchanged, also when one beside it changed", () => {
    assert.deepEqual(unchanged(object({ a: text, b: text }, rules), { a: "1", b: "2" }, { a: "1", b: "0" }), ["a"]);
  });

  test("nothing is unchanged when there was no object before", () => {
    assert.deepEqual(unchanged(object({ a: text }, rules), { a: "1" }, undefined), []);
    assert.deepEqual(unchanged(object({ a: text }, rules), { a: "1" }, null), []);
  });

  test("an object is compared with all its members", () => {
    const schema = object({ o: object({ a: { type: "string" }, b: { type: "string" } }, rules) });
    assert.deepEqual(unchanged(schema, { o: { a: "1", b: "2" } }, { o: { b: "2", a: "1" } }), ["o"]);
    assert.deepEqual(unchanged(schema, { o: { a: "1" } }, { o: { a: "1", b: "2" } }), []);
    assert.deepEqual(unchanged(schema, { o: { a: "1", b: "2" } }, { o: { a: "1", c: "2" } }), []);
  });

  test("an object with a member that the schema does not declare counts as changed", () => {
    const schema = object({ o: object({ a: { type: "string" } }, rules) });
    assert.deepEqual(unchanged(schema, { o: { a: "1", z: 1 } }, { o: { a: "1", z: 1 } }), []);
  });

  test("elements of a list of type map may change their places", () => {
    const schema = object({ l: { ...mapList(item), ...rules } });
    const [a, b] = [
      { k: "a", v: 1 },
      { k: "b", v: 2 },
    ];
    assert.deepEqual(unchanged(schema, { l: [b, a] }, { l: [a, b] }), ["l", "l[0]", "l[1]"]);
    assert.deepEqual(unchanged(schema, { l: [b, { ...a, v: 9 }] }, { l: [a, b] }), ["l[0]"]);
    assert.deepEqual(unchanged(schema, { l: [a] }, { l: [a, b] }), ["l[0]"]);
  });

  test("elements of other lists are as unchanged as their list", () => {
    const schema = object({ l: { type: "array", items: text, ...rules } });
    assert.deepEqual(unchanged(schema, { l: ["x", "y"] }, { l: ["x", "y"] }), ["l", "l[0]", "l[1]"]);
    assert.deepEqual(unchanged(schema, { l: ["x", "y"] }, { l: ["x", "z"] }), []);
    assert.deepEqual(unchanged(schema, { l: ["y", "x"] }, { l: ["x", "y"] }), []);
  });

  test("a new element of a list of type map counts as changed, as its list does", () => {
    const schema = object({ l: mapList(item) });
    assert.deepEqual(unchanged(schema, { l: [{ k: "new" }] }, { l: [{ k: "old" }] }), []);
  });

  test("a new field is as unchanged as the object that it is in, which it changed", () => {
    assert.deepEqual(unchanged(object({ a: text }, rules), { a: "1" }, {}), []);
  });

  test("a field that went and came under another name changes the object", () => {
    const schema = object({ o: object({ a: { type: "string" }, b: { type: "string" } }, rules) });
    assert.deepEqual(unchanged(schema, { o: { a: "1" } }, { o: { b: "1" } }), []);
    assert.deepEqual(unchanged(schema, { o: { b: "1" } }, { o: { a: "1" } }), []);
  });

  test("integers beyond 2^53 are compared exactly", () => {
    const schema = object({ n: { type: "integer", ...rules } });
    assert.deepEqual(unchanged(schema, { n: 9007199254740993n }, { n: 9007199254740993n }), ["n"]);
    assert.deepEqual(unchanged(schema, { n: 9007199254740993n }, { n: 9007199254740995n }), []);
  });

  test("a value of another type is changed", () => {
    const schema = object({ a: { "x-kubernetes-int-or-string": true, ...rules } });
    assert.deepEqual(unchanged(schema, { a: "1" }, { a: 1 }), []);
  });

  test("rules of a part of allOf at the root are never forgiven", () => {
    const schema = { ...object({ a: text }, rules), allOf: [rules] };
    assert.deepEqual(unchanged(schema, { a: "1" }, { a: "1" }), ["<root>", "a"]);
  });

  test("apiVersion and kind of the whole object are never forgiven", () => {
    const schema = object({ apiVersion: text, kind: text, a: object({ kind: text }) });
    const same = { apiVersion: "v1", kind: "K", a: { kind: "x" } };
    assert.deepEqual(unchanged(schema, same, structuredClone(same)), ["a.kind"]);
  });

  test("the comparison leaves both objects as they were", () => {
    const schema = object({ l: mapList(item) });
    const value = { l: [{ k: "a", v: 1 }] };
    const old = { l: [{ k: "a", v: 2 }] };
    find(schema, value, old);
    assert.deepEqual([value, old], [{ l: [{ k: "a", v: 1 }] }, { l: [{ k: "a", v: 2 }] }]);
  });
});
