// SPDX-License-Identifier: Apache-2.0
// Filters by value, slices at their bounds, and the text of values, as kubectl has them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonValue } from "../json/json-value.ts";
import { createTemplatePrinter, jsonPath } from "./json-path.ts";

function find(path: string, object: JsonValue): unknown {
  const found = jsonPath(path)?.(object);
  return found && finish(found);
}
const print = (template: string, object: JsonValue): string => createTemplatePrinter(template)(object);

describe("filters", () => {
  const items = [
    { name: "a", n: 1, b: true },
    { name: "b", n: 2.5, b: false },
    { name: "c", n: 2n ** 60n },
    { name: "d", n: "2" },
    { name: "e", n: null },
    { name: "f" },
    { name: "g", n: [1] },
  ];
  const names = (filter: string): string => String((find(`[?(${filter})].name`, items) as string[]).join(""));

  const rows: Readonly<Record<string, string>> = {
    "@.n==1": "a",
    "@.n==2.5": "b",
    "@.n=='2'": "d",
    '@.n=="2"': "d",
    "@.n==1152921504606846976": "c",
    "@.n==1152921504606846977": "",
    "@.n>1": "bc",
    "@.n>=1": "abc",
    "@.n<2.5": "a",
    "@.n<=2.5": "ab",
    "@.n>1152921504606846975": "c",
    "@.n<1152921504606846976": "ab",
    "@.b==true": "a",
    "@.b!=true": "b",
    "@.name>'e'": "fg",
    "@.name<='b'": "ab",
    "@.n": "abcdeg",
    "1==@.n": "a",
    "@.missing==1": "",
    "@.missing!=1": "",
    "@.n==@.n": "abcdeg",
  };
  for (const [filter, is] of Object.entries(rows))
    test(`${filter} finds ${is || "nothing"}`, () => assert.equal(names(filter), is));

  test("values of other types are not equal and have no order", () => {
    assert.equal(names("@.n!=1"), "bcdeg");
    assert.equal(names("@.n<'9'"), "d");
  });

  test("a path of a filter may start at the root", () => {
    const object = { wanted: "b", items: [{ name: "a" }, { name: "b" }] };
    assert.deepEqual(find(".items[?(@.name==$.wanted)]", object), [{ name: "b" }]);
  });
});

describe("slices", () => {
  const list = [0, 1, 2, 3, 4];
  const slices: Readonly<Record<string, readonly number[]>> = {
    "[0]": [0],
    "[4]": [4],
    "[-1]": [4],
    "[-5]": [0],
    "[1:3]": [1, 2],
    "[:2]": [0, 1],
    "[3:]": [3, 4],
    "[-2:]": [3, 4],
    "[:-1]": [0, 1, 2, 3],
    "[::2]": [0, 2, 4],
    "[1::3]": [1, 4],
    "[0:5]": [0, 1, 2, 3, 4],
    "[2:2]": [],
    "[9:9]": [],
    "[0,2]": [0, 2],
    "[0,3:]": [0, 3, 4],
  };
  for (const [path, items] of Object.entries(slices)) test(path, () => assert.deepEqual(find(path, list), items));

  const refused: Readonly<Record<string, string>> = {
    "[5]": "array index out of bounds: index 5, length 5",
    "[-6]": "array index out of bounds: index -1, length 5",
    "[0:6]": "array index out of bounds: index 5, length 5",
    "[5:6]": "array index out of bounds: index 5, length 5",
    "[-6:2]": "array index out of bounds: index -1, length 5",
    "[3:1]": "starting index 3 is greater than ending index 1",
    "[0:5:0]": "step must be > 0",
    "[0:5:-1]": "step must be > 0",
  };
  for (const [path, message] of Object.entries(refused)) {
    test(`${path} is refused in a template, and finds nothing for a column`, () => {
      assert.throws(() => print(`{${path}}`, list), { message });
      assert.deepEqual(find(path, list), []);
    });
  }

  test("an item that is null is an item", () => assert.deepEqual(find("[0]", [null]), [null]));
  test("an empty list has an empty slice", () => assert.deepEqual(find("[0:]", []), []));
  test("what is not a list has no items", () => assert.deepEqual(find("[0:2]", { a: 1 }), []));
});

describe("the text of values", () => {
  const rows: readonly (readonly [JsonValue, string])[] = [
    ["text", "text"],
    [5, "5"],
    [1234567, "1234567"],
    [1234567.5, "1.2345675e+06"],
    [0.5, "0.5"],
    [0.00001, "1e-05"],
    [9007199254740993n, "9007199254740993"],
    [true, "true"],
    [null, "null"],
    [{ b: 1, a: ["<x>", null] }, '{"a":["\\u003cx\\u003e",null],"b":1}'],
    [["é", 2n ** 60n], '["é",1152921504606846976]'],
  ];
  for (const [value, text] of rows) test(text, () => assert.equal(print("{.v}", { v: value }), text));

  test("several values have a space between them", () => assert.equal(print("{.v[*]}", { v: ["a", 1, {}] }), "a 1 {}"));
});
