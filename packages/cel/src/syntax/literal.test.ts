// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { showValue } from "../../test/expressions.ts";
import { tokenize } from "./lexer.ts";
import { LiteralError, parseLiteral } from "./literal.ts";
import { createSource } from "./source.ts";

function literal(text: string, isNegative = false): string {
  const [token] = tokenize(createSource(text)).tokens;
  assert.ok(token);
  return showValue(parseLiteral(token, isNegative));
}

const values = [
  { why: "an int", text: "12", expected: "12" },
  { why: "hexadecimal", text: "0xff", expected: "255" },
  { why: "the largest int", text: "9223372036854775807", expected: "9223372036854775807" },
  { why: "the largest uint", text: "18446744073709551615u", expected: "18446744073709551615u" },
  { why: "a double", text: "1.50", expected: "double 1.5" },
  { why: "a double below everything is zero", text: "1e-999", expected: "double 0" },
  { why: "true", text: "true", expected: "true" },
  { why: "null", text: "null", expected: "null" },
  { why: "a plain string", text: "'a b'", expected: '"a b"' },
  { why: "simple escapes", text: String.raw`'\n\t\\\'\"\?\a'`, expected: '"\\n\\t\\\\\'\\"?\\u0007"' },
  { why: "a hexadecimal escape is a code point", text: String.raw`'\xe9'`, expected: '"\u00e9"' },
  { why: "an octal escape is a code point", text: String.raw`'\351'`, expected: '"\u00e9"' },
  { why: "four digits", text: String.raw`'\u4e2d'`, expected: '"\u4e2d"' },
  { why: "eight digits", text: String.raw`'\U0001F600'`, expected: '"\u{1f600}"' },
  { why: "a raw string has no escapes", text: String.raw`r'\n'`, expected: '"\\\\n"' },
  { why: "line breaks of other systems become one", text: "'''a\r\nb\rc'''", expected: '"a\\nb\\nc"' },
  { why: "bytes are UTF-8", text: "b'\u00e9'", expected: "bc3a9" },
  { why: "an escape in bytes is one byte", text: String.raw`b'\xe9\351'`, expected: "be9e9" },
  { why: "a simple escape in bytes", text: String.raw`b'\n'`, expected: "b0a" },
] as const;

for (const { why, text, expected } of values) test(`literal: ${why}`, () => assert.equal(literal(text), expected));

test("a negative literal reaches the smallest int", () => {
  assert.equal(literal("9223372036854775808", true), "-9223372036854775808");
  assert.equal(literal("1.5", true), "double -1.5");
});

const problems = [
  { why: "an int beyond 64 bits", text: "9223372036854775808", problem: "invalid int literal" },
  { why: "a uint beyond 64 bits", text: "18446744073709551616u", problem: "invalid uint literal" },
  { why: "a double beyond everything", text: "1e999", problem: "invalid double literal" },
  { why: "half of a surrogate pair", text: String.raw`'\ud800'`, problem: "invalid unicode code point" },
  { why: "beyond Unicode", text: String.raw`'\U00110000'`, problem: "invalid unicode code point" },
  { why: "a code point in bytes", text: String.raw`b'\u00e9'`, problem: "unable to unescape string" },
] as const;

for (const { why, text, problem } of problems) {
  test(`no literal: ${why}`, () => {
    assert.throws(
      () => literal(text),
      (error: unknown) => error instanceof LiteralError && error.message === problem,
    );
  });
}

test("a string written with escapes is read back", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const points = Array.from(text, (point) => (point.codePointAt(0) ?? 0).toString(16).padStart(8, "0"));
      assert.equal(literal(`'${points.map((digits) => `\\U${digits}`).join("")}'`), JSON.stringify(text));
    }),
  );
});
