// SPDX-License-Identifier: Apache-2.0
// Where lines, indentations and quotes stand in printed YAML. print-yaml.test.ts compares a document with the reference.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { load } from "js-yaml";
import type { JsonValue } from "../json/json-value.ts";
import { compareNaturally, printYaml } from "./print-yaml.ts";

const rows: Readonly<Record<string, { readonly value: JsonValue; readonly lines: readonly string[] }>> = {
  "a scalar": { value: 5, lines: ["5"] },
  "a text": { value: "abc", lines: ["abc"] },
  null: { value: null, lines: ["null"] },
  "an empty object": { value: {}, lines: ["{}"] },
  "an empty list": { value: [], lines: ["[]"] },
  "members are sorted": { value: { b: 1, a: 2 }, lines: ["a: 2", "b: 1"] },
  "an object in an object": { value: { a: { b: { c: 1 } } }, lines: ["a:", "  b:", "    c: 1"] },
  "a list of a member is not indented": { value: { a: [1, 2] }, lines: ["a:", "- 1", "- 2"] },
  "a list in an object in an object": { value: { a: { b: [1] } }, lines: ["a:", "  b:", "  - 1"] },
  "empty containers as members": { value: { a: {}, b: [] }, lines: ["a: {}", "b: []"] },
  "objects in a list": {
    value: [{ a: 1, b: 2 }, { c: { d: 3 } }],
    lines: ["- a: 1", "  b: 2", "- c:", "    d: 3"],
  },
  "lists in lists": { value: [[1, 2], [3], []], lines: ["- - 1", "  - 2", "- - 3", "- []"] },
  "a list in an object in a list": { value: [{ a: [1] }], lines: ["- a:", "  - 1"] },
  "text that would be another type": {
    value: { a: "true", b: "1", c: "null", d: "1.5", e: "" },
    lines: ['a: "true"', 'b: "1"', 'c: "null"', 'd: "1.5"', 'e: ""'],
  },
  "keys that would be another type": { value: { true: 1, 1: 2 }, lines: ['"1": 2', '"true": 1'] },
  "text of two lines": { value: { a: "x\ny\n" }, lines: ["a: |", "  x", "  y"] },
  "text of two lines without an end": { value: { a: "x\ny" }, lines: ["a: |-", "  x", "  y"] },
  "text of two lines and an empty one": { value: { a: "x\ny\n\n" }, lines: ["a: |+", "  x", "  y", ""] },
  "text with an empty line inside": { value: { a: "x\n\ny\n" }, lines: ["a: |", "  x", "", "  y"] },
  "text of lines that begins with a space": { value: { a: " x\ny\n" }, lines: ["a: |2", "   x", "  y"] },
  "text of lines in a list": { value: [["x\ny\n"]], lines: ["- - |", "    x", "    y"] },
  "a member after text of lines": { value: { a: "x\ny\n", b: 1 }, lines: ["a: |", "  x", "  y", "b: 1"] },
  "an integer beyond 2^53": { value: { a: 9007199254740993n }, lines: ["a: 9007199254740993"] },
};

describe("layout", () => {
  for (const [name, { value, lines }] of Object.entries(rows)) {
    test(name, () => assert.equal(printYaml(value), `${lines.join("\n")}\n`));
  }
});

describe("long text", () => {
  const words = (count: number): string => Array.from({ length: count }, () => "word").join(" ");

  test("a text that ends within 80 columns stays on its line", () => {
    const fitting = `${words(15)} ${"x".repeat(2)}`;
    assert.equal(`a: ${fitting}`.length, 80);
    assert.equal(printYaml({ a: fitting }), `a: ${fitting}\n`);
  });

  test("a longer one is broken at the first space behind column 80", () => {
    const lines = printYaml({ a: words(40) }).split("\n");
    assert.deepEqual(
      lines.map((line) => line.length),
      [82, 81, 41, 0],
    );
    assert.ok(lines.slice(1, 3).every((line) => /^ {2}word/.test(line)));
  });

  test("a text without spaces is not broken", () => {
    const long = "x".repeat(500);
    assert.equal(printYaml({ a: long }), `a: ${long}\n`);
  });

  test("several spaces in a row are never a place to break", () => {
    const text = `${"x".repeat(90)}  ${"y".repeat(90)}`;
    assert.equal(printYaml({ a: text }).split("\n").length, 2);
    assert.deepEqual(load(printYaml({ a: text })), { a: text });
  });

  test("quoted text is broken too, and reads back the same", () => {
    for (const quoted of [`'${words(40)}`, `# ${words(40)}`, `\t${words(40)}`, `${words(40)}: x`]) {
      const printed = printYaml({ a: quoted });
      assert.ok(printed.split("\n").length > 3, printed);
      assert.deepEqual(load(printed), { a: quoted });
    }
  });

  test("nothing is broken on request", () => {
    assert.equal(printYaml({ a: words(40) }, { wrap: false }), `a: ${words(40)}\n`);
  });
});

describe("keys", () => {
  test("a key of 128 characters stands on the line of its value, a longer one does not", () => {
    const key = (length: number): string => "k".repeat(length);
    assert.equal(printYaml({ [key(128)]: 1 }), `${key(128)}: 1\n`);
    assert.equal(printYaml({ [key(129)]: 1 }), `? ${key(129)}\n: 1\n`);
  });

  test("a key of two lines reads back the same", () => {
    const value = { "a\nb": { c: 1 } };
    assert.deepEqual(load(printYaml(value)), value);
    assert.match(printYaml(value), /^\? /);
  });

  test("the merge key is quoted on request", () => {
    assert.equal(printYaml({ "<<": 1 }), "<<: 1\n");
    assert.equal(printYaml({ "<<": 1 }, { quoteMergeKey: true }), '"<<": 1\n');
  });

  test("keys keep the order of the object on request", () => {
    assert.equal(printYaml({ b: 1, a: { d: 1, c: 1 } }, { sortKeys: false }), "b: 1\na:\n  d: 1\n  c: 1\n");
  });
});

describe("natural order", () => {
  const ascending: readonly (readonly string[])[] = [
    ["a1", "a2", "a10", "a20"],
    ["1", "2", "10"],
    ["a", "aa", "ab", "b"],
    ["a-1", "a1", "ab"],
    ["A", "B", "a", "b"],
    ["_", "a"],
    ["v1", "v1alpha1", "v1beta1", "v2"],
    ["v1", "v10", "v1beta1"],
    ["a100000000000000000000", "a100000000000000000001"],
  ];
  for (const keys of ascending) {
    test(keys.join(" < "), () => {
      for (const [i, a] of keys.entries()) {
        for (const [j, b] of keys.entries()) {
          assert.equal(Math.sign(compareNaturally(a, b)), Math.sign(i - j), `${a} and ${b}`);
        }
      }
    });
  }

  test("zeros in front of a number do not count, unless the numbers are equal", () => {
    assert.ok(compareNaturally("a002", "a10") < 0);
    assert.ok(compareNaturally("a09", "a1") > 0);
    assert.ok(compareNaturally("a1", "a01") < 0);
    assert.ok(compareNaturally("a105", "a15") > 0, "behind another digit a zero counts");
  });

  test("numbers of a million digits are compared without being read", () => {
    const digits = "7".repeat(1_000_000);
    assert.ok(compareNaturally(`a1${digits}`, `a2${digits}`) < 0);
    assert.ok(compareNaturally(`a9${digits}`, `a10${digits}`) < 0);
    assert.ok(compareNaturally(`a5${digits}`, `a1${digits}1`) < 0);
  });

  test("equal keys are equal, however long they are", () => {
    const long = "k".repeat(1000);
    assert.equal(compareNaturally(long, long), 0);
    assert.ok(compareNaturally(`${long}a`, `${long}b`) < 0);
  });
});
