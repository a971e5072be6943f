// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { renderIssues } from "./issues.ts";
import { createSource, noLocation } from "./source.ts";

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
