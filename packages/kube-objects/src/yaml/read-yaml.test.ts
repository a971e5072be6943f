// SPDX-License-Identifier: Apache-2.0
// What plain words and numbers of YAML mean, how much a document may stand for, and where documents of a stream begin.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { load, type Schema } from "js-yaml";
import { isBlankDocument, isBounded, kubectlSchema, splitDocuments, wideIntegerSchema } from "./read-yaml.ts";

const read = (text: string, schema: Schema = kubectlSchema): unknown => load(text, { schema });

describe("booleans", () => {
  for (const word of ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"]) {
    test(`${word} is true`, () => assert.equal(read(word), true));
  }
  for (const word of ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"]) {
    test(`${word} is false`, () => assert.equal(read(word), false));
  }
  for (const word of ["yEs", "oN", "tRUE", "t", "f", "yess", "'yes'", '"no"']) {
    test(`${word} is text`, () => assert.equal(read(word), word.replace(/['"]/g, "")));
  }
});

describe("integers", () => {
  const rows: readonly (readonly [text: string, value: unknown])[] = [
    ["0", 0],
    ["-0", 0],
    ["12", 12],
    ["+12", 12],
    ["-12", -12],
    ["0644", 420],
    ["-0644", -420],
    ["0o17", 15],
    ["0O17", 15],
    ["0x1F", 31],
    ["0X1f", 31],
    ["0b101", 5],
    ["0B101", 5],
    ["1_000_000", 1_000_000],
    ["0x_ff", 255],
    ["9007199254740991", 9007199254740991],
    ["9007199254740993", 9007199254740993n],
    ["9223372036854775807", 9223372036854775807n],
    ["-9223372036854775808", -9223372036854775808n],
    ["9223372036854775808", 2 ** 63],
    ["0x7fffffffffffffff", 9223372036854775807n],
  ];
  for (const [text, value] of rows) test(`${text} is ${value}`, () => assert.equal(read(text) || 0, value));

  test("0089 and 0b12 are not integers", () => {
    assert.notEqual(typeof read("0b12"), "number");
    assert.equal(read("0o8"), "0o8");
  });

  test("all integers are exact where that is asked for", () => {
    assert.equal(read("9223372036854775808", wideIntegerSchema), 9223372036854775808n);
    assert.equal(read("12", wideIntegerSchema), 12);
  });

  test("more digits than a double can have are not an integer", () => {
    const digits = (count: number): unknown => read(`1${"0".repeat(count - 1)}`, wideIntegerSchema);
    assert.equal(digits(400), 10n ** 399n);
    assert.notEqual(typeof digits(401), "bigint");
  });
});

describe("other scalars", () => {
  const rows: readonly (readonly [text: string, value: unknown])[] = [
    ["2024-01-01", "2024-01-01"],
    ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"],
    ["12:30:45", "12:30:45"],
    ["1.5", 1.5],
    ["1e3", 1000],
    ["~", null],
    ["null", null],
    ["1.2.3", "1.2.3"],
    ["10Gi", "10Gi"],
    ["'12'", "12"],
  ];
  for (const [text, value] of rows) test(`${text} is ${JSON.stringify(value)}`, () => assert.equal(read(text), value));

  test("a merge key adds what is not there", () => {
    assert.deepEqual(read("a: &a {x: 1, z: 2}\nb: {<<: *a, z: 3}"), { a: { x: 1, z: 2 }, b: { x: 1, z: 3 } });
  });
});

describe("how much a value stands for", () => {
  const limits = { size: 10, depth: 3 };

  test("text counts a character and one for itself", () => {
    assert.equal(isBounded("x".repeat(9), limits), true);
    assert.equal(isBounded("x".repeat(10), limits), false);
  });

  test("numbers, words and null count one", () => {
    assert.equal(isBounded([1, true, null, 1n, 1.5, 1, 1, 1, 1], limits), true);
    assert.equal(isBounded([1, true, null, 1n, 1.5, 1, 1, 1, 1, 1], limits), false);
  });

  test("keys count their characters", () => {
    assert.equal(isBounded({ abcdefgh: 1 }, limits), true, "8 for the key, 1 for the value, 1 for the object");
    assert.equal(isBounded({ abcdefghi: 1 }, limits), false);
  });

  test("what is deeper than the limit is refused", () => {
    assert.equal(isBounded([[[1]]], limits), true);
    assert.equal(isBounded([[[[1]]]], limits), false);
    assert.equal(isBounded({ a: { b: { c: {} } } }, limits), true);
    assert.equal(isBounded({ a: { b: { c: { d: 1 } } } }, { size: 100, depth: 3 }), false);
  });

  test("a part that is used twice counts twice, and is measured once", () => {
    const part = "x".repeat(1000);
    assert.equal(isBounded([part, part], { size: 2003, depth: 5 }), true);
    assert.equal(isBounded([part, part], { size: 2002, depth: 5 }), false);
    let doubled: unknown = ["x"];
    for (let level = 0; level < 60; level++) doubled = [doubled, doubled];
    assert.equal(isBounded(doubled, { size: 1_000_000, depth: 100 }), false);
  });

  test("a part that is found deep first counts its full height at each place", () => {
    const deep = [[[1]]];
    assert.equal(isBounded([deep], { size: 100, depth: 4 }), true);
    assert.equal(isBounded([deep, [deep]], { size: 100, depth: 4 }), false);
  });

  test("a value that contains itself is refused", () => {
    const self: unknown[] = [];
    self.push(self);
    assert.equal(isBounded(self, { size: 1000, depth: 1000 }), false);
    const twin: Record<string, unknown> = {};
    twin["other"] = { back: twin };
    assert.equal(isBounded(twin, { size: 1000, depth: 1000 }), false);
  });
});

describe("documents of a stream", () => {
  const parts = (text: string): unknown => [...splitDocuments(text)].map(({ body, line }) => [line, body]);

  test("a text without markers is one", () => assert.deepEqual(parts("a: 1\n"), [[1, "a: 1\n"]]));
  test("an empty text is one, and empty", () => assert.deepEqual(parts(""), [[1, ""]]));

  test("a marker begins the next, and stays out of it", () => {
    assert.deepEqual(parts("a: 1\n---\nb: 2\n---\nc: 3"), [
      [1, "a: 1\n"],
      [2, "\nb: 2\n"],
      [4, "\nc: 3"],
    ]);
  });

  test("empty lines are counted", () => {
    assert.deepEqual(parts("a\n\n\n---\nb\n\n---\nc"), [
      [1, "a\n\n\n"],
      [4, "\nb\n\n"],
      [7, "\nc"],
    ]);
  });

  test("what stands on the line of a marker belongs to the document", () => {
    assert.deepEqual(parts("--- {a: 1}\n--- # comment\nb: 2"), [
      [1, ""],
      [1, " {a: 1}\n"],
      [2, " # comment\nb: 2"],
    ]);
  });

  test("only three dashes at the start of a line, before white space, are a marker", () => {
    assert.equal([...splitDocuments("a: x---\n ---\n----\n---b\n")].length, 1);
    assert.equal([...splitDocuments("a\r\n---\r\nb")].length, 2);
  });

  test("the offset is where the body begins in the text", () => {
    const text = "a: 1\n---\nb: 2\n--- c\n";
    for (const { body, offset } of splitDocuments(text)) assert.equal(text.slice(offset, offset + body.length), body);
  });

  test("a stream with directives is one part", () => {
    assert.equal([...splitDocuments("%YAML 1.2\n---\na: 1\n---\nb: 2")].length, 1);
  });
});

describe("a document without content", () => {
  for (const body of ["", "\n\n", "# comment", "  # comment\n\n...\n", "...", "\t \r\n"]) {
    test(`${JSON.stringify(body)} is blank`, () => assert.equal(isBlankDocument(body), true));
  }
  for (const body of ["a", "# comment\na: 1", "....", "... x", "null", "{}", "''"]) {
    test(`${JSON.stringify(body)} is not`, () => assert.equal(isBlankDocument(body), false));
  }
});
