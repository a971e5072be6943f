// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { applyMergePatch, createMergePatch } from "./merge-patch.ts";

test("null deletes, objects merge, lists are replaced", () => {
  const object: JsonObject = deepFreeze({ a: { b: 1, c: 2 }, l: [1, 2], s: "x" });
  const rows: ReadonlyArray<readonly [JsonObject, JsonObject]> = [
    [{ a: { b: null } }, { a: { c: 2 }, l: [1, 2], s: "x" }],
    [{ a: null }, { l: [1, 2], s: "x" }],
    [{ l: [3] }, { a: { b: 1, c: 2 }, l: [3], s: "x" }],
    [{ s: { deep: { gone: null, kept: 1 } } }, { a: { b: 1, c: 2 }, l: [1, 2], s: { deep: { kept: 1 } } }],
    [{ n: { x: null, y: [{ z: null }, null] } }, { a: { b: 1, c: 2 }, l: [1, 2], s: "x", n: { y: [{}, null] } }],
    [{ a: [{ z: null }] }, { a: [{ z: null }], l: [1, 2], s: "x" }],
    [{ absent: null }, object],
  ];
  for (const [patch, want] of rows) assert.deepEqual(applyMergePatch(object, deepFreeze(patch)), want);
});

test("a patch that changes nothing returns the document itself", () => {
  const object: JsonObject = deepFreeze({ a: { b: [1, { c: 1 }] }, d: 1 });
  for (const patch of [{}, { d: 1 }, { a: { b: [1, { c: 1 }] } }, { zzz: null }]) {
    assert.equal(applyMergePatch(object, patch), object);
  }
});

test("keys called __proto__ are data", () => {
  const patch = JSON.parse('{"__proto__":{"polluted":true},"a":{"__proto__":1}}') as JsonObject;
  const result = applyMergePatch({ a: {} }, patch);
  assert.equal((result as { polluted?: unknown }).polluted, undefined);
  assert.equal(JSON.stringify(result), '{"a":{"__proto__":1},"__proto__":{"polluted":true}}');
});

// Documents without nulls: what a merge patch can express.
const document = fc
  .letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.nat(3),
      fc.constantFrom("x", "y"),
      fc.array(fc.nat(2), { maxLength: 2 }),
      tie("object"),
    ),
    object: fc.dictionary(fc.constantFrom("a", "b", "c", "__proto__"), tie("value"), {
      maxKeys: 3,
    }) as fc.Arbitrary<JsonObject>,
  }))
  .object.map((object) => JSON.parse(JSON.stringify(object)) as JsonObject);

test("property: the patch made from two documents turns one into the other", () => {
  fc.assert(
    fc.property(document, document, (before, after) => {
      const patch = createMergePatch(deepFreeze(before), deepFreeze(after));
      assert.deepEqual(applyMergePatch(before, patch), after);
      assert.deepEqual(createMergePatch(after, after), {});
    }),
    { numRuns: 500 },
  );
});

test("property: applying a patch twice is applying it once", () => {
  fc.assert(
    fc.property(document, document, document, (object, before, after) => {
      const patch = createMergePatch(before, after);
      const once = applyMergePatch(object, patch);
      assert.equal(applyMergePatch(once, patch), once);
    }),
    { numRuns: 500 },
  );
});

test("members that stay keep their order, whether others go, change or come", () => {
  const document = { a: 1, b: 2, c: 3, d: 4 };
  const merged = applyMergePatch(document, { e: 5, b: null, c: 9, x: null });
  assert.equal(JSON.stringify(merged), '{"a":1,"c":9,"d":4,"e":5}');
  assert.equal(applyMergePatch(document, { x: null, a: 1 }), document);
});
