// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "js-yaml";
import { escapedText, scalarStyle, yamlNumber } from "./yaml-scalar.ts";

const styles: Readonly<Record<ReturnType<typeof scalarStyle>, readonly string[]>> = {
  plain: [
    "a",
    "a b",
    "a:b",
    "a#b",
    "-a",
    "?a",
    "é",
    "1.2.3",
    "0x",
    "1-2",
    "v1",
    "nULL",
    "tRUE",
    "a'b",
    'a"b',
    "2024-1",
    "..",
    "/a",
    "~a",
    "=",
    "<",
  ],
  single: [
    " a",
    "a ",
    "#a",
    "a #b",
    "a: b",
    "a:",
    "- a",
    "-",
    "? a",
    "?",
    ":",
    "[a",
    "{a",
    "]",
    "}",
    ",a",
    "&a",
    "*a",
    "!a",
    "|a",
    ">a",
    "'a",
    '"a',
    "%a",
    "@a",
    "`a",
    "---",
    "...",
  ],
  double: [
    ...["", "~", "null", "Null", "NULL", "y", "N", "yes", "No", "true", "FALSE", "on", "Off", ".nan", ".NaN"],
    ...[
      "0",
      "-1",
      "+1",
      "1_000",
      "0b11",
      "0o17",
      "0x1F",
      "1.5",
      ".5",
      "1.",
      "1e3",
      "-.inf",
      "+.INF",
      "1:30",
      "1:30:00.5",
    ],
    ...["2024-01-01", "2024-1-1", "2024-01-01T00:00:00Z", "2024-01-01 00:00:00"],
    ...["\x85", "a\u2028", "\u2029a", "a\x85b", "a\u2028 b", "a\u2029#b", "yes\x85", "a\u2028b\nc", "a\n\u2029"],
    ...["a\tb", "a\0", "a\u007f", "😀", "\ufeffa", "a\rb", "a \nb", "a\nb "],
  ],
  literal: ["a\nb", "a\n", "\n", "a\n\nb", " a\nb"],
};

for (const [style, texts] of Object.entries(styles)) {
  test(`texts in ${style} style`, () => {
    for (const text of texts) assert.equal(scalarStyle(text), style, JSON.stringify(text));
  });
}

test("a plain text is read as the same text", () => {
  for (const text of styles.plain) assert.equal(load(text), text, text);
});

test("characters are escaped in double quotes", () => {
  const escaped: readonly (readonly [string, string])[] = [
    ["a b", "a b"],
    ['"\\', '\\"\\\\'],
    ["\0\x07\b\t\n\v\f\r\x1b", "\\0\\a\\b\\t\\n\\v\\f\\r\\e"],
    ["\x85\u2028\u2029", "\\N\\L\\P"],
    ["\x01\x7f", "\\x01\\x7F"],
    ["\ufeff", "\\uFEFF"],
    ["😀", "\\U0001F600"],
    ["é\u00a0", "é\u00a0"],
  ];
  for (const [text, expected] of escaped) assert.equal(escapedText(text), expected, expected);
});

test("an escaped text is read as the same text", () => {
  for (const text of styles.double) assert.equal(load(`"${escapedText(text)}"`), text, JSON.stringify(text));
});

test("numbers are printed as Go prints them", () => {
  const numbers: readonly (readonly [number | bigint, string])[] = [
    [0, "0"],
    [-1, "-1"],
    [2n ** 63n, "9223372036854775808"],
    [2 ** 62, "4611686018427387904"],
    [1.5, "1.5"],
    [-0.25, "-0.25"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [123_456.5, "123456.5"],
    [1_234_567.5, "1.2345675e+06"],
    [1e21, "1e+21"],
    [2.5e-10, "2.5e-10"],
  ];
  for (const [value, text] of numbers) assert.equal(yamlNumber(value), text);
});
