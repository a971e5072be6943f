// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { indexSelector, matchesIndexed } from "./indexed-selector.ts";
import { matchesLabels } from "./label-selector.ts";
import { labelSelectorOf } from "./label-selector-object.ts";

const key = fc.constantFrom("a", "b", "c", "d");
const value = fc.constantFrom("x", "y", "");
const labels = fc.dictionary(key, value);
const expression = fc.oneof(
  fc.record({ key, operator: fc.constantFrom("In", "NotIn"), values: fc.array(value, { minLength: 1 }) }),
  fc.record({ key, operator: fc.constantFrom("Exists", "DoesNotExist") }),
);
const selector = fc.record({ matchLabels: labels, matchExpressions: fc.array(expression, { maxLength: 4 }) });

const labelsOf = (count: number, prefix: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, "v"]));
const filler = labelsOf(100, "k");
const more = labelsOf(200, "m");
const absent = Object.keys(filler).map((name) => ({ key: `no-${name}`, operator: "DoesNotExist" }));

test("an indexed selector selects what the selector selects, also when it is long", () => {
  fc.assert(
    fc.property(selector, labels, (object, given) => {
      const expected = matchesLabels(labelSelectorOf(object), given);
      assert.equal(matchesIndexed(indexSelector(object), given), expected);
      const long = { ...object, matchLabels: { ...object.matchLabels, ...filler } };
      assert.equal(matchesIndexed(indexSelector(long), { ...given, ...filler }), expected);
      assert.equal(matchesIndexed(indexSelector(long), given), false);
      const denied = { ...object, matchExpressions: [...object.matchExpressions, ...absent] };
      assert.equal(matchesIndexed(indexSelector(denied), given), expected);
      assert.equal(matchesIndexed(indexSelector(denied), { ...given, "no-k7": "" }), false);
      assert.equal(matchesIndexed(indexSelector(denied), { ...given, ...more }), expected);
      assert.equal(matchesIndexed(indexSelector(denied), { ...given, ...more, "no-k7": "" }), false);
    }),
  );
});

test("members that every JavaScript object has are not labels", () => {
  assert.equal(matchesIndexed(indexSelector({ matchLabels: { constructor: "x" } }), {}), false);
  assert.equal(matchesIndexed(indexSelector({ matchLabels: { constructor: "x" } }), { constructor: "x" }), true);
  const absent = { matchExpressions: [{ key: "constructor", operator: "DoesNotExist" }] };
  assert.equal(matchesIndexed(indexSelector(absent), {}), true);
});

test("the labels of a selector are looked at when they are compared, up to the first one that is missing", () => {
  let looks = 0;
  const matchLabels = new Proxy(labelsOf(10_000, "k"), {
    get(target, key) {
      looks += 1;
      return Reflect.get(target, key);
    },
  });
  const indexed = indexSelector({ matchLabels });
  assert.equal(looks, 0);
  assert.equal(matchesIndexed(indexed, { k0: "v", k1: "v" }), false);
  assert.equal(looks, 3);
});
