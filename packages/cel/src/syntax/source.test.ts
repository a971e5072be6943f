// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createSource, lineText, locationOf } from "./source.ts";

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
