// SPDX-License-Identifier: Apache-2.0
// The fields that an applier owns after it applied a value, for each kind of type.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { applyTypeOf } from "./apply-schema.ts";
import { deduced } from "./apply-type.ts";
import { emptySet, leaf } from "./field-set.ts";
import { decodeFieldsV1, encodeFieldsV1 } from "./fields-v1.ts";
import {
  type FieldSetNotes,
  fieldSetOf,
  findingFields,
  reconcileWithType,
  withNamedFields,
} from "./typed-field-set.ts";

const item = {
  type: "object",
  properties: {
    name: { type: "string" },
    port: { type: "integer", default: 80 },
    opts: { type: "object", properties: { a: { type: "string" } } },
  },
};
const type = applyTypeOf({
  type: "object",
  properties: {
    s: { type: "string" },
    struct: { type: "object", properties: { a: { type: "string" }, deep: { type: "object", properties: {} } } },
    labels: { type: "object", additionalProperties: { type: "string" } },
    objects: { type: "object", additionalProperties: { type: "object", properties: { a: { type: "string" } } } },
    whole: { type: "object", additionalProperties: { type: "string" }, "x-kubernetes-map-type": "atomic" },
    args: { type: "array", items: { type: "string" } },
    set: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
    items: {
      type: "array",
      items: item,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name", "port"],
    },
  },
});
const key = (name: string, port: number): string => `k:{"name":"${name}","port":${port}}`;

const owned = (value: JsonObject): JsonObject => encodeFieldsV1(fieldSetOf(type, deepFreeze(value)));

const rows: Readonly<Record<string, { readonly value: JsonObject; readonly fields: JsonObject }>> = {
  "nothing is owned by an empty object": { value: {}, fields: {} },
  "a leaf": { value: { s: "x" }, fields: { "f:s": {} } },
  "a null": { value: { s: null }, fields: { "f:s": {} } },
  "a struct is not owned itself": { value: { struct: { a: "x" } }, fields: { "f:struct": { "f:a": {} } } },
  "an empty struct is": { value: { struct: {} }, fields: { "f:struct": {} } },
  "a null in the place of a struct is": { value: { struct: null }, fields: { "f:struct": {} } },
  "an empty struct in a struct": { value: { struct: { deep: {} } }, fields: { "f:struct": { "f:deep": {} } } },
  "keys of a map": { value: { labels: { a: "1", b: "2" } }, fields: { "f:labels": { "f:a": {}, "f:b": {} } } },
  "an object under a key is owned with its fields": {
    value: { objects: { k: { a: "x" } } },
    fields: { "f:objects": { "f:k": { ".": {}, "f:a": {} } } },
  },
  "an atomic map is a leaf": { value: { whole: { a: "1" } }, fields: { "f:whole": {} } },
  "an atomic list is a leaf": { value: { args: ["x", "y"] }, fields: { "f:args": {} } },
  "values of a set": { value: { set: ["x", "y"] }, fields: { "f:set": { 'v:"x"': {}, 'v:"y"': {} } } },
  "an empty set is not owned": { value: { set: [] }, fields: {} },
  "items by their keys": {
    value: { items: [{ name: "a", port: 1, opts: { a: "x" } }] },
    fields: {
      "f:items": { [key("a", 1)]: { ".": {}, "f:name": {}, "f:opts": { "f:a": {} }, "f:port": {} } },
    },
  },
  "a default completes the key of an item, and is not owned": {
    value: { items: [{ name: "a" }] },
    fields: { "f:items": { [key("a", 80)]: { ".": {}, "f:name": {} } } },
  },
  "of items that come twice the item is owned and none of its fields": {
    value: {
      items: [
        { name: "a", port: 1 },
        { name: "a", port: 1, opts: { a: "x" } },
      ],
    },
    fields: { "f:items": { [key("a", 1)]: {} } },
  },
  "a field that is not declared is left out": { value: { nope: 1, s: "x" }, fields: { "f:s": {} } },
};

describe("owned fields", () => {
  for (const [name, { value, fields }] of Object.entries(rows)) {
    test(name, () => assert.deepEqual(owned(value), fields));
  }

  test("found in parts are those found at once", () => {
    const value = { labels: { a: "1" }, items: [{ name: "a" }] };
    assert.deepEqual(finish(findingFields(type, value)), fieldSetOf(type, value));
  });

  test("a scalar is a leaf, and so is null of a type that can be a scalar", () => {
    const text = applyTypeOf({ type: "string" });
    assert.equal(fieldSetOf(text, "x"), leaf);
    assert.equal(fieldSetOf(text, null), leaf);
  });

  test("a value in the place of a granular map or set owns nothing", () => {
    assert.equal(fieldSetOf(type, "text"), emptySet);
    assert.equal(fieldSetOf(type, null), emptySet);
  });
});

describe("whether a container is owned as empty", () => {
  const notes = (value: JsonValue): boolean => {
    const found: FieldSetNotes = { ownsEmptyContainer: false };
    fieldSetOf(type, value, found);
    return found.ownsEmptyContainer;
  };

  test("a declared container that is null or an empty map is", () => {
    assert.equal(notes({ struct: {} }), true);
    assert.equal(notes({ labels: null }), true);
    assert.equal(notes({ struct: { deep: {} } }), true);
    assert.equal(notes({ items: [{ name: "a", opts: {} }] }), true);
  });

  test("others are not", () => {
    assert.equal(notes({ struct: { a: "x" }, labels: { a: "1" } }), false);
    assert.equal(notes({ s: null, whole: {}, args: [], set: [] }), false);
    assert.equal(notes({ objects: { k: {} } }), false, "a key of a map is owned as a key");
  });
});

describe("sets and their types", () => {
  const set = (fields: JsonObject): ReturnType<typeof decodeFieldsV1> => decodeFieldsV1(fields);

  test("a set that needs no change is returned itself", () => {
    const fine = set({ "f:s": {}, "f:labels": { "f:a": {} }, "f:items": { [key("a", 1)]: { ".": {}, "f:name": {} } } });
    assert.equal(reconcileWithType(type, fine), fine);
    assert.equal(reconcileWithType(type, fine), fine, "also when it is asked again");
    const leaves = set({ "f:s": {} });
    assert.equal(withNamedFields(type, leaves), leaves);
  });

  test("what is atomic now is owned as a whole", () => {
    const before = set({ "f:whole": { "f:a": {} }, "f:args": { ".": {}, 'v:"x"': {} } });
    assert.deepEqual(encodeFieldsV1(reconcileWithType(type, before)), { "f:args": {}, "f:whole": {} });
  });

  test("what is granular now stays owned as a whole", () => {
    const before = set({ "f:labels": {}, "f:set": {} });
    assert.equal(reconcileWithType(type, before), before);
  });

  test("items are looked into", () => {
    const atomicInside = applyTypeOf({
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      items: { type: "object", properties: { k: { type: "string" }, l: { type: "array", items: { type: "string" } } } },
    });
    const before = set({ 'k:{"k":"a"}': { ".": {}, "f:l": { ".": {}, 'v:"x"': {} } } });
    assert.deepEqual(encodeFieldsV1(reconcileWithType(atomicInside, before)), {
      'k:{"k":"a"}': { ".": {}, "f:l": {} },
    });
  });

  test("values without a schema keep their sets", () => {
    const before = set({ "f:a": { "f:b": { 'v:"x"': {} } } });
    assert.equal(reconcileWithType(deduced, before), before);
  });

  test("structs with members become members, keys of maps do not", () => {
    const before = set({ "f:struct": { "f:a": {} }, "f:objects": { "f:k": { "f:a": {} } } });
    assert.deepEqual(encodeFieldsV1(withNamedFields(type, before)), {
      "f:objects": { ".": {}, "f:k": { "f:a": {} } },
      "f:struct": { ".": {}, "f:a": {} },
    });
  });
});
