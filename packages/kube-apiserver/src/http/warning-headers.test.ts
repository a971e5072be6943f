// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { warningHeaders } from "./write-complete.ts";

const cases: Record<string, { reason: string; texts: string[]; want: string[] }> = {
  Plain: { reason: "code, no agent, quoted", texts: ["careful"], want: ['299 - "careful"'] },
  Quotes: {
    reason: "quotes and backslashes are escaped",
    texts: ['unknown field "a\\b"'],
    want: ['299 - "unknown field \\"a\\\\b\\""'],
  },
  Twice: { reason: "once is enough", texts: ["a", "a", "b"], want: ['299 - "a"', '299 - "b"'] },
  Lines: { reason: "a line break would end the header", texts: ["a\r\nX-Evil: 1", "b"], want: ['299 - "b"'] },
  Control: { reason: "nor any other control character", texts: ["a\u0085", "\u0000"], want: [] },
  Unicode: { reason: "UTF-8 bytes", texts: ["é"], want: ['299 - "Ã©"'] },
};

for (const [name, { reason, texts, want }] of Object.entries(cases)) {
  test(`warning: ${name}`, () => assert.deepEqual(warningHeaders(texts), want, reason));
}

test("too much text is cut, each to 256 characters, and to 4096 together", () => {
  const headers = warningHeaders(Array.from({ length: 30 }, (_, i) => `${i} ${"x".repeat(400)}`));
  assert.equal(headers.length, 16);
  assert.ok(headers.every((header) => header.length === 256 + '299 - ""'.length));
  const [long] = warningHeaders(["y".repeat(4000)]);
  assert.equal(long?.length, 4000 + '299 - ""'.length, "below the total nothing is cut");
});

test("cutting begins with the text that is too much and continues while there is room", () => {
  const texts = [...Array.from({ length: 45 }, (_, i) => `${String(i).padStart(2, "0")} ${"x".repeat(97)}`)];
  assert.equal(warningHeaders(texts.slice(0, 40)).length, 40, "4,000 characters fit");
  // The 41st text is the first that is too much; with it the total is 4,100 even after cutting, so nothing is added.
  assert.equal(warningHeaders(texts).length, 41);
});
