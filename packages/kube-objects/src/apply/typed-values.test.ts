// SPDX-License-Identifier: Apache-2.0
// Merging and comparing values of each kind of type, one rule a row.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { applyTypeOf } from "./apply-schema.ts";
import { type ApplyType, deduced } from "./apply-type.ts";
import {
  difference,
  emptySet,
  equalSets,
  fieldSetOfPaths,
  intersection,
  isEmptySet,
  leaf,
  union,
} from "./field-set.ts";
import { decodeFieldsV1, encodeFieldsV1 } from "./fields-v1.ts";
// Observed from the reference's TypedValue.Merge, Compare and ToFieldSet.
import observed from "./testdata/typed-values.json" with { type: "json" };
import { compareTyped, excludeFields, same } from "./typed-compare.ts";
import { fieldSetOf, reconcileWithType, withNamedFields } from "./typed-field-set.ts";
import { mergeValues } from "./typed-merge.ts";
import { removeFields } from "./typed-remove.ts";

interface Row {
  readonly reason: string;
  readonly schema: string;
  readonly live: JsonObject;
  readonly config: JsonObject;
  readonly merged?: JsonValue;
  readonly mergeError?: string;
  readonly added: JsonObject;
  readonly removed: JsonObject;
  readonly modified: JsonObject;
  readonly set: JsonObject;
}

const schemas = observed.schemas as unknown as Readonly<Record<string, JsonObject>>;

for (const row of observed.rows as unknown as readonly Row[]) {
  test(`values: ${row.reason}`, () => {
    const type = applyTypeOf(schemas[row.schema] ?? {});
    const { live, config } = deepFreeze(row);
    if (row.mergeError === undefined) assert.deepEqual(mergeValues(type, live, config), row.merged);
    const { added, removed, modified } = compareTyped(type, live, config);
    assert.deepEqual(encodeFieldsV1(added), row.added, "added");
    assert.deepEqual(encodeFieldsV1(removed), row.removed, "removed");
    assert.deepEqual(encodeFieldsV1(modified), row.modified, "modified");
    assert.deepEqual(encodeFieldsV1(fieldSetOf(type, config)), row.set, "owned after applying it");
  });
}

test("merging what is there already returns the live value itself, part by part", () => {
  const live = deepFreeze({ a: { b: [1, 2], c: "x" }, d: { e: 1 } });
  assert.equal(mergeValues(deduced, live, { a: { b: [1, 2] } }), live);
  const merged = mergeValues(deduced, live, { d: { e: 2 } }) as JsonObject;
  assert.notEqual(merged, live);
  assert.equal(merged["a"], live.a, "untouched parts are shared");
});

test("excluded fields leave a comparison with all below them", () => {
  const comparison = compareTyped(deduced, { a: { b: 1 }, s: { x: 1 } }, { a: { b: 2 }, s: { y: 2 } });
  const rest = excludeFields(comparison, fieldSetOfPaths([["s"]]));
  assert.deepEqual(encodeFieldsV1(rest.modified), { "f:a": { "f:b": {} } });
  assert.ok(isEmptySet(rest.added) && isEmptySet(rest.removed));
  assert.equal(excludeFields(same, fieldSetOfPaths([["s"]])), same);
  assert.equal(excludeFields(comparison, undefined), comparison);
});

const struct: ApplyType = applyTypeOf({
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        tags: { type: "object", additionalProperties: { type: "string" } },
        items: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["k"],
          items: {
            type: "object",
            properties: { k: { type: "string" }, inner: { type: "object", properties: { v: { type: "integer" } } } },
          },
        },
      },
    },
  },
});

test("declared fields on the way to a member become members; keys and items do not", () => {
  const set = decodeFieldsV1({
    "f:spec": { "f:tags": { "f:a": {} }, "f:items": { 'k:{"k":"x"}': { "f:inner": { "f:v": {} } } } },
    "f:unknown": { "f:x": {} },
  });
  assert.deepEqual(encodeFieldsV1(withNamedFields(struct, set)), {
    "f:spec": {
      ".": {},
      "f:items": { ".": {}, 'k:{"k":"x"}': { "f:inner": { ".": {}, "f:v": {} } } },
      "f:tags": { ".": {}, "f:a": {} },
    },
    "f:unknown": { "f:x": {} },
  });
  assert.equal(withNamedFields(struct, emptySet), emptySet);
  assert.equal(withNamedFields(undefined, leaf), leaf);
});

test("sets follow a schema that became atomic, and stay where it became granular or is free-form", () => {
  const atomic = applyTypeOf({
    type: "object",
    properties: {
      map: { type: "object", additionalProperties: { type: "string" }, "x-kubernetes-map-type": "atomic" },
      list: { type: "array", items: { type: "string" } },
      free: { type: "object" },
      deep: { type: "object", properties: { list: { type: "array", items: { type: "string" } } } },
    },
  });
  const set = decodeFieldsV1({
    "f:map": { ".": {}, "f:a": {} },
    "f:list": { 'v:"x"': {} },
    "f:free": { "f:a": { "f:b": {} } },
    "f:deep": { ".": {}, "f:list": { ".": {}, 'v:"x"': {} } },
    "f:undeclared": { "f:a": {} },
  });
  assert.deepEqual(encodeFieldsV1(reconcileWithType(atomic, set)), {
    "f:deep": { ".": {}, "f:list": {} },
    "f:free": { "f:a": { "f:b": {} } },
    "f:list": {},
    "f:map": {},
    "f:undeclared": { "f:a": {} },
  });
  const owned = decodeFieldsV1({ "f:map": {}, "f:list": {} });
  assert.equal(reconcileWithType(atomic, owned), owned);
  assert.equal(reconcileWithType(struct, decodeFieldsV1({ "f:spec": { "f:tags": {} } })).fields?.size, 1);
});

const value = fc.letrec<{ any: JsonValue; map: JsonObject }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.nat(2),
    fc.constantFrom("x", "y"),
    fc.array(fc.nat(2), { maxLength: 2 }),
    tie("map"),
  ),
  map: fc.dictionary(fc.constantFrom("a", "b", "c"), tie("any"), { maxKeys: 3 }) as fc.Arbitrary<JsonObject>,
})).map;

test("property: nothing differs between a value and itself, and a merge holds its configuration", () => {
  fc.assert(
    fc.property(value, value, (live, config) => {
      assert.equal(compareTyped(deduced, live, structuredClone(live)), same);
      const merged = mergeValues(deduced, deepFreeze(live), deepFreeze(config));
      const mentioned = fieldSetOf(deduced, config);
      const { modified, removed } = compareTyped(deduced, config, merged);
      assert.ok(isEmptySet(intersection(mentioned, union(modified, removed))), JSON.stringify([live, config, merged]));
      assert.equal(mergeValues(deduced, merged, config), merged);
    }),
    { numRuns: 500 },
  );
});

test("property: the three parts of a comparison are disjoint, and swapping sides swaps added and removed", () => {
  fc.assert(
    fc.property(value, value, (a, b) => {
      const there = compareTyped(deduced, a, b);
      const back = compareTyped(deduced, b, a);
      assert.ok(isEmptySet(intersection(there.added, there.removed)));
      assert.ok(isEmptySet(intersection(there.added, there.modified)));
      assert.ok(equalSets(there.added, back.removed) && equalSets(there.removed, back.added));
      assert.ok(equalSets(there.modified, back.modified));
    }),
    { numRuns: 500 },
  );
});

test("property: removing fields removes them and nothing that does not hang on them", () => {
  fc.assert(
    fc.property(value, value, (object, other) => {
      const all = fieldSetOf(deduced, object);
      const gone = fieldSetOf(deduced, other);
      const rest = removeFields(deduced, deepFreeze(object), gone);
      const left = rest === null ? emptySet : fieldSetOf(deduced, rest);
      assert.ok(isEmptySet(intersection(left, gone)), "gone");
      assert.ok(isEmptySet(difference(left, all)), "nothing new");
    }),
    { numRuns: 500 },
  );
});
