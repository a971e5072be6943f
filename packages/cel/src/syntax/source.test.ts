// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createSource, lineText, locationOf, noLocation, renderIssues } from "./source.ts";

const locations = [
  { why: "the start of the text", text: "abc", offset: 0, line: 1, column: 0 },
  { why: "the end of the text", text: "abc", offset: 3, line: 1, column: 3 },
  { why: "a line break is the end of its line", text: "a\nb", offset: 1, line: 1, column: 1 },
  { why: "the start of the second line", text: "a\nb", offset: 2, line: 2, column: 0 },
  { why: "empty lines count", text: "\n\n\nb", offset: 3, line: 4, column: 0 },
  { why: "a carriage return is a character", text: "a\r\nb", offset: 3, line: 2, column: 0 },
  { why: "columns count code points", text: "\u{1f600}\u{1f600}x", offset: 2, line: 1, column: 2 },
] as const;

for (const { why, text, offset, line, column } of locations) {
  test(`location: ${why}`, () => {
    assert.deepEqual(locationOf(createSource(text), offset), { line, column });
  });
}

const lines = [
  { why: "a text of one line", text: "abc", line: 1, expected: "abc" },
  { why: "the break is not part of the line", text: "a\nb", line: 1, expected: "a" },
  { why: "the last line", text: "a\nb", line: 2, expected: "b" },
  { why: "an empty line at the end", text: "a\n", line: 2, expected: "" },
  { why: "an empty text has no line", text: "", line: 1, expected: undefined },
  { why: "no line has the number 0", text: "abc", line: 0, expected: undefined },
  { why: "a problem without place", text: "abc", line: -1, expected: undefined },
  { why: "a line beyond the last", text: "abc", line: 2, expected: undefined },
] as const;

for (const { why, text, line, expected } of lines) {
  test(`line: ${why}`, () => assert.equal(lineText(createSource(text), line), expected));
}

test("the character at a location is the one at the offset", () => {
  const texts = fc.string({ unit: fc.constantFrom("a", "\n", "\u00e9", "\u{1f600}") });
  fc.assert(
    fc.property(texts, fc.nat(), (text, seed) => {
      const source = createSource(text);
      const offset = source.points.length === 0 ? 0 : seed % source.points.length;
      const { line, column } = locationOf(source, offset);
      const point = source.points[offset];
      if (point === undefined || point === "\n") return;
      assert.equal(Array.from(lineText(source, line) ?? "")[column], point);
    }),
  );
});

const at = (line: number, column: number, message = "wrong") => ({ location: { line, column }, message });

const rendered = [
  {
    why: "the caret stands under the place",
    text: "a + b",
    issues: [at(1, 4)],
    expected: "ERROR: <input>:1:5: wrong\n | a + b\n | ....^",
  },
  {
    why: "only the line of the problem is shown",
    text: "a +\nb",
    issues: [at(2, 0)],
    expected: "ERROR: <input>:2:1: wrong\n | b\n | ^",
  },
  {
    why: "tabs are shown as one space, so that the caret fits",
    text: "\ta",
    issues: [at(1, 1)],
    expected: "ERROR: <input>:1:2: wrong\n |  a\n | .^",
  },
  {
    why: "wide characters get wide dots",
    text: "'\u00e9' + a",
    issues: [at(1, 6)],
    expected: "ERROR: <input>:1:7: wrong\n | '\u00e9' + a\n | .\uff0e....^",
  },
  {
    why: "a wide character gets a wide caret",
    text: "a\u4e2d",
    issues: [at(1, 1)],
    expected: "ERROR: <input>:1:2: wrong\n | a\u4e2d\n | .\uff3e",
  },
  {
    why: "a place beyond the end of the line",
    text: "ab",
    issues: [at(1, 9)],
    expected: "ERROR: <input>:1:10: wrong\n | ab\n | ..^",
  },
  {
    why: "a problem of the whole text has no line",
    text: "ab",
    issues: [{ location: noLocation, message: "too long" }],
    expected: "ERROR: <input>:-1:0: too long",
  },
  {
    why: "problems are sorted by place",
    text: "ab\ncd",
    issues: [at(2, 1, "third"), at(1, 1, "second"), at(1, 0, "first")],
    expected:
      "ERROR: <input>:1:1: first\n | ab\n | ^\nERROR: <input>:1:2: second\n | ab\n | .^\nERROR: <input>:2:2: third\n | cd\n | .^",
  },
  {
    why: "problems at one place keep their order",
    text: "a",
    issues: [at(1, 0, "one"), at(1, 0, "two")],
    expected: "ERROR: <input>:1:1: one\n | a\n | ^\nERROR: <input>:1:1: two\n | a\n | ^",
  },
];

for (const { why, text, issues, expected } of rendered) {
  test(`a problem is printed: ${why}`, () => assert.equal(renderIssues(createSource(text), issues), expected));
}

test("a line that is too long is left out", () => {
  const source = createSource(`'${"x".repeat(16_383)}'`);
  assert.equal(renderIssues(source, [at(1, 0)]), "ERROR: <input>:1:1: wrong");
  assert.match(renderIssues(createSource("x".repeat(16_384)), [at(1, 0)]), /\n \| x+\n \| \^$/);
});

test("after a hundred problems the rest is counted", () => {
  const issues = Array.from({ length: 103 }, (_, index) => at(1, 0, `problem ${index}`));
  const text = renderIssues(createSource("a"), issues);
  assert.equal(text.split("ERROR:").length - 1, 100);
  assert.ok(text.endsWith("\n3 more errors were truncated"));
});
