// SPDX-License-Identifier: Apache-2.0
// Which fields a comparison finds added, removed and modified, for each kind of type.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { applyTypeOf } from "./apply-schema.ts";
import { type ApplyType, deduced } from "./apply-type.ts";
import { fieldSetOfPaths } from "./field-set.ts";
import { encodeFieldsV1 } from "./fields-v1.ts";
import { compareTyped, comparingTyped, excludeFields, same } from "./typed-compare.ts";

const item = { type: "object", properties: { name: { type: "string" }, v: { type: "integer" } } };
const type = applyTypeOf({
  type: "object",
  properties: {
    n: { type: "integer" },
    s: { type: "string" },
    struct: { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } },
    labels: { type: "object", additionalProperties: { type: "string" } },
    whole: { type: "object", additionalProperties: { type: "string" }, "x-kubernetes-map-type": "atomic" },
    args: { type: "array", items: { type: "string" } },
    set: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
    items: { type: "array", items: item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
    any: { "x-kubernetes-preserve-unknown-fields": true },
  },
});

interface Found {
  readonly added?: JsonObject;
  readonly removed?: JsonObject;
  readonly modified?: JsonObject;
}

/** The parts of a comparison that are not empty. */
function compare(before: JsonValue, after: JsonValue, of: ApplyType = type): Found {
  const { added, removed, modified } = compareTyped(of, deepFreeze(before), deepFreeze(after));
  const parts = Object.entries({ added, removed, modified }).map(([name, set]) => [name, encodeFieldsV1(set)] as const);
  return Object.fromEntries(parts.filter(([, fields]) => Object.keys(fields).length > 0));
}

const x = 'k:{"name":"x"}';
const y = 'k:{"name":"y"}';

const rows: Readonly<
  Record<string, { readonly before: JsonObject; readonly after: JsonObject; readonly found: Found }>
> = {
  "equal values": {
    before: { n: 1, labels: { a: "1" }, args: ["x"], items: [{ name: "x", v: 1 }] },
    after: { n: 1, labels: { a: "1" }, args: ["x"], items: [{ name: "x", v: 1 }] },
    found: {},
  },
  "a scalar that changed": { before: { n: 1 }, after: { n: 2 }, found: { modified: { "f:n": {} } } },
  "a scalar of another type": { before: { n: 1 }, after: { n: "1" }, found: { modified: { "f:n": {} } } },
  "a scalar that is null now": { before: { n: 1 }, after: { n: null }, found: { modified: { "f:n": {} } } },
  "a field that came": { before: {}, after: { n: 1 }, found: { added: { "f:n": {} } } },
  "a field that went": { before: { n: 1 }, after: {}, found: { removed: { "f:n": {} } } },
  "a field in a struct": {
    before: { struct: { a: "1" } },
    after: { struct: { a: "2", b: "1" } },
    found: { added: { "f:struct": { "f:b": {} } }, modified: { "f:struct": { "f:a": {} } } },
  },
  "a struct that came is a member with its fields": {
    before: {},
    after: { struct: { a: "1" } },
    found: { added: { "f:struct": { ".": {}, "f:a": {} } } },
  },
  "a struct that went is a member with its fields": {
    before: { struct: { a: "1" } },
    after: {},
    found: { removed: { "f:struct": { ".": {}, "f:a": {} } } },
  },
  "keys of a map": {
    before: { labels: { a: "1", b: "1" } },
    after: { labels: { b: "2", c: "1" } },
    found: {
      added: { "f:labels": { "f:c": {} } },
      removed: { "f:labels": { "f:a": {} } },
      modified: { "f:labels": { "f:b": {} } },
    },
  },
  "an atomic map changes as a whole": {
    before: { whole: { a: "1" } },
    after: { whole: { a: "1", b: "2" } },
    found: { modified: { "f:whole": {} } },
  },
  "an atomic map comes as a whole": {
    before: {},
    after: { whole: { a: "1" } },
    found: { added: { "f:whole": {} } },
  },
  "an atomic list changes as a whole": {
    before: { args: ["x", "y"] },
    after: { args: ["y", "x"] },
    found: { modified: { "f:args": {} } },
  },
  "items of a set come and go": {
    before: { set: ["x", "y"] },
    after: { set: ["z", "y"] },
    found: { added: { "f:set": { 'v:"z"': {} } }, removed: { "f:set": { 'v:"x"': {} } } },
  },
  "the order of a set does not count": { before: { set: ["x", "y"] }, after: { set: ["y", "x"] }, found: {} },
  "a set that came is a member with its items": {
    before: {},
    after: { set: ["x"] },
    found: { added: { "f:set": { ".": {}, 'v:"x"': {} } } },
  },
  "items with keys are compared by their key": {
    before: {
      items: [
        { name: "x", v: 1 },
        { name: "y", v: 1 },
      ],
    },
    after: {
      items: [
        { name: "y", v: 1 },
        { name: "x", v: 2 },
      ],
    },
    found: { modified: { "f:items": { [x]: { "f:v": {} } } } },
  },
  "an item with a key comes with all its fields": {
    before: { items: [{ name: "x" }] },
    after: { items: [{ name: "x" }, { name: "y", v: 1 }] },
    found: { added: { "f:items": { [y]: { ".": {}, "f:name": {}, "f:v": {} } } } },
  },
  "an item with a key goes with all its fields": {
    before: { items: [{ name: "x" }, { name: "y", v: 1 }] },
    after: { items: [{ name: "x" }] },
    found: { removed: { "f:items": { [y]: { ".": {}, "f:name": {}, "f:v": {} } } } },
  },
  "a field of an item comes": {
    before: { items: [{ name: "x" }] },
    after: { items: [{ name: "x", v: 1 }] },
    found: { added: { "f:items": { [x]: { "f:v": {} } } } },
  },
  "an empty struct that came": { before: {}, after: { struct: {} }, found: { added: { "f:struct": {} } } },
  "an integer beyond 2^53": {
    before: { n: 9007199254740992n },
    after: { n: 9007199254740993n },
    found: { modified: { "f:n": {} } },
  },
  "values that no schema describes": {
    before: { any: { a: { b: 1 }, l: [1] } },
    after: { any: { a: { c: 1 }, l: [2] } },
    found: {
      added: { "f:any": { "f:a": { "f:c": {} } } },
      removed: { "f:any": { "f:a": { "f:b": {} } } },
      modified: { "f:any": { "f:l": {} } },
    },
  },
};

describe("a comparison", () => {
  for (const [name, { before, after, found }] of Object.entries(rows)) {
    test(name, () => {
      assert.deepEqual(compare(before, after), found);
      assert.deepEqual(compare(after, before), swapped(found), "the other way round, added and removed change places");
    });
  }

  test("of values that are the same is always the same object", () => {
    assert.equal(compareTyped(type, rows["equal values"]?.before ?? {}, rows["equal values"]?.after ?? {}), same);
  });

  test("in parts gives what it gives at once", () => {
    const [before, after] = [{ labels: { a: "1" } }, { labels: { b: "1" }, set: ["x"] }];
    assert.deepEqual(finish(comparingTyped(type, before, after)), compareTyped(type, before, after));
  });
});

describe("a value that changes its form", () => {
  test("a map that becomes a scalar loses its fields, and changes itself", () => {
    assert.deepEqual(compare({ any: { a: 1 } }, { any: "text" }), {
      removed: { "f:any": { "f:a": {} } },
      modified: { "f:any": {} },
    });
  });

  test("a scalar that becomes a map gets its fields, and changes itself", () => {
    assert.deepEqual(compare({ any: "text" }, { any: { a: 1 } }), {
      added: { "f:any": { "f:a": {} } },
      modified: { "f:any": {} },
    });
  });

  test("a map that becomes a list", () => {
    assert.deepEqual(compare({ a: 1 }, { a: [1] }, deduced), { modified: { "f:a": {} } });
  });
});

describe("excluded fields", () => {
  const comparison = compareTyped(type, { n: 1, labels: { a: "1" }, s: "x" }, { n: 2, labels: { b: "1" } });

  test("are left out of all three parts", () => {
    const rest = excludeFields(comparison, fieldSetOfPaths([["labels"], ["s"]]));
    assert.deepEqual(
      [rest.added, rest.removed, rest.modified].map((set) => encodeFieldsV1(set)),
      [{}, {}, { "f:n": {} }],
    );
  });

  test("without any, the comparison is returned itself", () => {
    assert.equal(excludeFields(comparison, undefined), comparison);
    assert.equal(excludeFields(comparison, fieldSetOfPaths([])), comparison);
  });
});

function swapped({ added, removed, modified }: Found): Found {
  return { ...(removed && { added: removed }), ...(added && { removed: added }), ...(modified && { modified }) };
}
