// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { tokenize } from "./lexer.ts";
import { createSource } from "./source.ts";
import { tokenTypeName } from "./token.ts";

const shown = (text: string): string[] =>
  tokenize(createSource(text))
    .tokens.slice(0, -1)
    .map(({ type, text: spelling }) => `${tokenTypeName(type)} ${spelling}`);

const tables: readonly { readonly why: string; readonly text: string; readonly expected: readonly string[] }[] = [
  { why: "whole numbers", text: "0 12", expected: ["NUM_INT 0", "NUM_INT 12"] },
  { why: "hexadecimal numbers", text: "0x1F 0xau", expected: ["NUM_INT 0x1F", "NUM_UINT 0xau"] },
  { why: "0x needs a digit", text: "0xg", expected: ["NUM_INT 0", "IDENTIFIER xg"] },
  { why: "unsigned numbers", text: "1u 2U", expected: ["NUM_UINT 1u", "NUM_UINT 2U"] },
  { why: "fractions", text: "1.5 .5", expected: ["NUM_FLOAT 1.5", "NUM_FLOAT .5"] },
  { why: "a point without digits is not a fraction", text: "1.", expected: ["NUM_INT 1", "'.' ."] },
  { why: "exponents", text: "1e3 1E+3 1.5e-3", expected: ["NUM_FLOAT 1e3", "NUM_FLOAT 1E+3", "NUM_FLOAT 1.5e-3"] },
  { why: "an exponent needs digits", text: "1e+", expected: ["NUM_INT 1", "IDENTIFIER e", "'+' +"] },
  { why: "a sign is a token of its own", text: "-1", expected: ["'-' -", "NUM_INT 1"] },
  { why: "names", text: "a _b c1", expected: ["IDENTIFIER a", "IDENTIFIER _b", "IDENTIFIER c1"] },
  { why: "keywords", text: "in true false null", expected: ["'in' in", "'true' true", "'false' false", "'null' null"] },
  { why: "a name may start with a keyword", text: "inner", expected: ["IDENTIFIER inner"] },
  { why: "quoted names", text: "`a.b-c/d e`", expected: ["ESC_IDENTIFIER `a.b-c/d e`"] },
  { why: "strings", text: `'a' "b"`, expected: ["STRING 'a'", 'STRING "b"'] },
  { why: "a string ends at its own quote", text: `'a"b'`, expected: [`STRING 'a"b'`] },
  { why: "an escaped quote", text: `'a\\'b'`, expected: [`STRING 'a\\'b'`] },
  { why: "a raw string takes a backslash as it is", text: `r'a\\' b`, expected: [`STRING r'a\\'`, "IDENTIFIER b"] },
  { why: "three quotes", text: `'''a'b''' c`, expected: [`STRING '''a'b'''`, "IDENTIFIER c"] },
  { why: "three quotes hold lines", text: '"""a\nb"""', expected: ['STRING """a\nb"""'] },
  { why: "bytes", text: `b'a' B"b" br'c'`, expected: ["BYTES b'a'", 'BYTES B"b"', "BYTES br'c'"] },
  { why: "r and b in front of no quote are names", text: "r b", expected: ["IDENTIFIER r", "IDENTIFIER b"] },
  {
    why: "operators of two characters win",
    text: "<= >= == != && ||",
    expected: ["'<=' <=", "'>=' >=", "'==' ==", "'!=' !=", "'&&' &&", "'||' ||"],
  },
  { why: "operators of one character", text: "< > ! ? :", expected: ["'<' <", "'>' >", "'!' !", "'?' ?", "':' :"] },
  { why: "comments are left out", text: "a // b\nc", expected: ["IDENTIFIER a", "IDENTIFIER c"] },
  { why: "a comment may end the text", text: "a // b", expected: ["IDENTIFIER a"] },
  { why: "one slash is an operator", text: "a / b", expected: ["IDENTIFIER a", "'/' /", "IDENTIFIER b"] },
];

for (const { why, text, expected } of tables) test(`tokens: ${why}`, () => assert.deepEqual(shown(text), expected));

const failures = [
  { why: "a character CEL has no use for", text: "a ; b", problem: ";", column: 2 },
  { why: "a single ampersand and what follows", text: "a & b", problem: "& ", column: 2 },
  { why: "a single equals sign", text: "a = b", problem: "= ", column: 2 },
  { why: "a string without end", text: "'abc", problem: "'abc", column: 0 },
  { why: "a string over the end of a line", text: "'ab\nc'", problem: "'ab\n", column: 0 },
  { why: "an empty quoted name", text: "``", problem: "``", column: 0 },
  { why: "a letter outside ASCII", text: "\u00e9", problem: "\u00e9", column: 0 },
] as const;

for (const { why, text, problem, column } of failures) {
  test(`no token: ${why}`, () => {
    const [issue] = tokenize(createSource(text)).issues;
    assert.equal(issue?.message, `Syntax error: token recognition error at: '${problem}'`);
    assert.equal(issue?.location.column, column);
  });
}

test("tokens have their position and the space before them", () => {
  const { tokens } = tokenize(createSource("a  /*"));
  assert.deepEqual(
    tokens.map(({ start, before }) => ({ start, before })),
    [
      { start: 0, before: "" },
      { start: 3, before: "  " },
      { start: 4, before: "" },
      { start: 5, before: "" },
    ],
  );
});

test("the end of an empty text is in front of it", () => {
  assert.deepEqual(
    tokenize(createSource("")).tokens.map(({ start }) => start),
    [-1],
  );
});

test("after more than a hundred failures nothing is read", () => {
  const { tokens, issues } = tokenize(createSource(";".repeat(1000)));
  assert.equal(issues.length, 101);
  assert.deepEqual(tokens, []);
});

test("any text is split completely: tokens, what is between them, and failures", () => {
  const texts = fc.string({ unit: fc.constantFrom(..."ab1.'\"`\\&|=;!?x0u \n/", "\u00e9"), maxLength: 40 });
  fc.assert(
    fc.property(texts, (text) => {
      const { tokens, issues } = tokenize(createSource(text));
      const failed = issues.map(({ message }) => /at: '(.*)'$/s.exec(message)?.[1] ?? "");
      const kept = tokens.slice(0, -1).map((token) => token.text);
      const between = tokens.map((token) => token.before);
      assert.equal([...failed, ...kept, ...between].join("").length, text.length);
    }),
  );
});
