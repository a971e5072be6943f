// SPDX-License-Identifier: Apache-2.0
// What apply says of values that do not have the shape of their type. type-problems.test.ts has the answers of the reference.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { applyTypeOf } from "./apply-schema.ts";
import { deduced } from "./apply-type.ts";
import { typeProblem } from "./typed-validate.ts";

const item = { type: "object", properties: { k: { type: "string" }, v: { type: "integer" } } };
const schema: JsonObject = {
  type: "object",
  properties: {
    n: { type: "integer" },
    f: { type: "number" },
    s: { type: "string" },
    b: { type: "boolean" },
    io: { "x-kubernetes-int-or-string": true },
    t: { type: "string", format: "date-time" },
    o: { type: "object", properties: { a: { type: "string" }, z: { type: "string" } } },
    m: { type: "object", additionalProperties: { type: "integer" } },
    l: { type: "array", items: { type: "string" } },
    set: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
    map: { type: "array", items: item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] },
    any: { "x-kubernetes-preserve-unknown-fields": true },
  },
};
const type = applyTypeOf(schema);
const problem = (value: JsonValue, allowDuplicates = false): string | undefined =>
  typeProblem(type, value, { allowDuplicates });

describe("values that fit", () => {
  const fits: Readonly<Record<string, JsonObject>> = {
    "an empty object": {},
    scalars: { n: 1, f: 1.5, s: "", b: false },
    "an integer for a number, and a fraction for an integer": { f: 1, n: 1.5 },
    "an integer beyond 2^53": { n: 9223372036854775807n },
    "anything for an int-or-string": { io: [1, "50%"] },
    "any scalar for a time": { t: 5 },
    "null anywhere": { n: null, s: null, b: null, o: null, m: null, l: null, set: null, map: null },
    "null in a map and in a struct": { m: { a: null }, o: { a: null } },
    "null in an atomic list": { l: [null, "a"] },
    "empty containers": { o: {}, m: {}, l: [], set: [], map: [] },
    "what no schema describes": { any: { a: [1, { b: null }], c: "x" } },
    "the same values in an atomic list": { l: ["a", "a"] },
  };
  for (const [name, value] of Object.entries(fits)) test(name, () => assert.equal(problem(value), undefined));
});

describe("values that do not", () => {
  const rows: Readonly<Record<string, { readonly value: JsonObject; readonly text: string }>> = {
    "a text for a number": { value: { n: "1" }, text: ".n: expected numeric (int or float), got string" },
    "a bool for a number": { value: { f: true }, text: ".f: expected numeric (int or float), got bool" },
    "a list for a number": { value: { n: [1] }, text: ".n: expected numeric (int or float), got []interface {}" },
    "a map for a number": {
      value: { n: {} },
      text: ".n: expected numeric (int or float), got map[string]interface {}",
    },
    "a number for a text": {
      value: { s: 5 },
      text: ".s: expected string, got &value.valueUnstructured{Value:5}",
    },
    "a text for a bool": { value: { b: "true" }, text: ".b: expected boolean, got &{true}" },
    "a list for a time": { value: { t: [1, "a"] }, text: ".t: expected any scalar, got &{[1 a]}" },
    "a scalar for a struct": { value: { o: 3 }, text: ".o: expected map, got &{3}" },
    "a list for a map": { value: { m: ["x"] }, text: ".m: expected map, got &{[x]}" },
    "a map for a list": { value: { l: { a: 1 } }, text: ".l: expected list, got &{map[a:1]}" },
    "a field that is not declared": { value: { nope: 1 }, text: ".nope: field not declared in schema" },
    "a field that is not declared, inside": { value: { o: { b: 1 } }, text: ".o.b: field not declared in schema" },
    "a key of a map with a dot": {
      value: { m: { "a.b/c": "x" } },
      text: ".m.a.b/c: expected numeric (int or float), got string",
    },
    "an item of an atomic list": {
      value: { l: ["a", 1] },
      text: ".l[1]: expected string, got &value.valueUnstructured{Value:1}",
    },
    "an item of a set": {
      value: { set: ["a", 1] },
      text: ".set[=1]: expected string, got &value.valueUnstructured{Value:1}",
    },
    "a map in a set": {
      value: { set: [{}] },
      text: ".set: element 0: associative list without keys has an element that's a map type",
    },
    "null in a set": {
      value: { set: [null] },
      text: ".set: element 0: associative list without keys has an element that's an explicit null",
    },
    "a list in a set": {
      value: { set: [[]] },
      text: ".set: element 0: not supported: associative list with lists as elements",
    },
    "a value twice in a set": { value: { set: ["a", "b", "a"] }, text: '.set: duplicate entries for key [="a"]' },
    "an item with a wrong field": {
      value: { map: [{ k: "a", v: "x" }] },
      text: '.map[k="a"].v: expected numeric (int or float), got string',
    },
    "an item without its key": {
      value: { map: [{ v: 1 }] },
      text: `.map: element 0: associative list with keys has an element that omits all key fields ["k"] (and doesn't have default values for any key fields)`,
    },
    "a scalar among items with keys": {
      value: { map: ["a"] },
      text: ".map: element 0: associative list with keys may not have non-map elements",
    },
    "null among items with keys": {
      value: { map: [null] },
      text: ".map: element 0: associative list with keys may not have a null element",
    },
    "a key twice": {
      value: { map: [{ k: "a" }, { k: "a", v: 1 }] },
      text: '.map: duplicate entries for key [k="a"]',
    },
  };
  for (const [name, { value, text }] of Object.entries(rows)) test(name, () => assert.equal(problem(value), text));

  test("a value at the root has no path", () => {
    assert.equal(problem("text"), "expected map, got &{text}");
    assert.equal(
      typeProblem(applyTypeOf({ type: "string" }), true, { allowDuplicates: false }),
      "expected string, got &value.valueUnstructured{Value:true}",
    );
  });
});

describe("several problems", () => {
  test("each has a line, by the names of the fields", () => {
    assert.equal(
      problem({ s: 1, b: 1, n: "x" }),
      [
        "errors:",
        "  .b: expected boolean, got &{1}",
        "  .n: expected numeric (int or float), got string",
        "  .s: expected string, got &value.valueUnstructured{Value:1}",
      ].join("\n"),
    );
  });

  test("after a field that is not declared the rest of its map is not looked at, other maps are", () => {
    assert.equal(
      problem({ m: { a: "x" }, o: { a: 1, b: 1, z: 1 } }),
      [
        "errors:",
        "  .m.a: expected numeric (int or float), got string",
        "  .o.a: expected string, got &value.valueUnstructured{Value:1}",
        "  .o.b: field not declared in schema",
      ].join("\n"),
    );
  });

  test("after an item without a name the rest of its list is not looked at", () => {
    assert.equal(
      problem({ set: [1, null, 2] }),
      [
        "errors:",
        "  .set[=1]: expected string, got &value.valueUnstructured{Value:1}",
        "  .set: element 1: associative list without keys has an element that's an explicit null",
      ].join("\n"),
    );
  });

  test("at most 100 are reported", () => {
    const lines = (count: number): number =>
      problem({ l: Array.from({ length: count }, () => 1) })?.split("\n").length ?? 0;
    assert.equal(lines(100), 101);
    assert.equal(lines(300), 101);
  });

  test("a thousand items that are wrong are bounded in a set as well", () => {
    const text = problem({ set: Array.from({ length: 1000 }, (_, index) => index) }) ?? "";
    assert.equal(text.split("\n").length, 101);
  });
});

describe("duplicates", () => {
  test("stored objects may have them, and are checked otherwise", () => {
    assert.equal(problem({ set: ["a", "a"], map: [{ k: "a" }, { k: "a" }] }, true), undefined);
    assert.equal(
      problem({ set: ["a", "a"], map: [{ k: "a" }, { k: "a", v: "x" }] }, true),
      '.map[k="a"].v: expected numeric (int or float), got string',
    );
  });
});

test("a type without forms fits nothing", () => {
  assert.equal(typeProblem({}, "a", { allowDuplicates: false }), "schema error: invalid atom: inlined");
});

test("a value without a schema always fits, however long its lists are", () => {
  const value = { l: Array.from({ length: 1000 }, (_, index) => ({ index })) };
  assert.equal(typeProblem(deduced, value, { allowDuplicates: false }), undefined);
});
