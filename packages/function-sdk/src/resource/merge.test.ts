// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, type JsonValue, Struct } from "@purlin/function-protocol";
import fc from "fast-check";
import { mergeObjects } from "./convert.ts";

const key = fc.constantFrom("a", "b", "c", "__proto__", "constructor");
const { object } = fc.letrec<{ object: JsonObject; value: JsonValue }>((tie) => ({
  object: fc.dictionary(key, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  value: fc.oneof(
    { maxDepth: 3 },
    fc.integer(),
    fc.constant(null),
    fc.constant("text"),
    tie("object"),
    fc.array(tie("value"), { maxLength: 2 }),
  ),
}));

const json = (value: JsonValue): string => JSON.stringify(value);

test("property: merging nothing changes nothing", () => {
  fc.assert(
    fc.property(object, (one) => {
      assert.equal(json(mergeObjects(one, {})), json(one));
      assert.equal(json(mergeObjects({}, one)), json(one));
    }),
  );
});

test("property: merging the same twice is merging it once", () => {
  fc.assert(
    fc.property(object, object, (one, two) => {
      const once = mergeObjects(one, two);
      assert.equal(json(mergeObjects(once, two)), json(once));
    }),
  );
});

test("property: every leaf of the source is in the result, and both inputs stay", () => {
  fc.assert(
    fc.property(object, object, (one, two) => {
      const before = [json(one), json(two)];
      const merged = mergeObjects(Struct.from(one).value, Struct.from(two).value);
      const check = (source: JsonValue, result: JsonValue | undefined): void => {
        if (typeof source !== "object" || source === null || Array.isArray(source)) {
          assert.deepEqual(result, source);
          return;
        }
        for (const [name, value] of Object.entries(source)) {
          assert.ok(result !== null && typeof result === "object" && Object.hasOwn(result, name));
          check(value, (result as JsonObject)[name]);
        }
      };
      check(two, merged);
      assert.deepEqual([json(one), json(two)], before);
      assert.equal(Object.getPrototypeOf(merged), Object.prototype);
    }),
  );
});

test("property: joined lists have both parts, in order", () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.array(fc.integer()), (first, second) => {
      assert.deepEqual(mergeObjects({ l: first }, { l: second }, "concat"), { l: [...first, ...second] });
      assert.deepEqual(mergeObjects({ l: first }, { l: second }), { l: second });
    }),
  );
});

test("what is not touched is shared", () => {
  const target = { same: { deep: [1] }, other: { a: 1 } };
  const merged = mergeObjects(target, { other: { b: 2 } });
  assert.equal(merged["same"], target.same);
  assert.deepEqual(merged["other"], { a: 1, b: 2 });
});
