// SPDX-License-Identifier: Apache-2.0

import { type Subject, testAnswers } from "../../test/expressions.ts";

const subject: Subject = {
  schema: {
    type: "object",
    properties: {
      s: { type: "string", maxLength: 10 },
      t: { type: "string" },
      l: { type: "array", maxItems: 5, items: { type: "string", maxLength: 3 } },
      n: { type: "integer" },
    },
  },
  self: { s: "abcabcabc", t: "x", l: ["ab", "c"], n: 2 },
};

testAnswers([
  { why: "a character by its index in code points", expr: "'a\u{1f600}b'.charAt(1)", is: '"\u{1f600}"', cost: 1 },
  {
    why: "the index behind the last character gives an empty string",
    expr: "'a\u{1f600}b'.charAt(3)",
    is: '""',
    cost: 1,
  },
  {
    why: "an index further behind is out of range",
    expr: "'a\u{1f600}b'.charAt(4)",
    is: "ERR index out of range: 4",
    cost: 1,
  },
  { why: "a negative index is out of range", expr: "'abc'.charAt(-1)", is: "ERR index out of range: -1", cost: 1 },
  { why: "an empty string has the index 0", expr: "''.charAt(0)", is: '""', cost: 1 },
]);

testAnswers([
  { why: "the first occurrence", expr: "'tacocat'.indexOf('ac')", is: "1", cost: 0 },
  { why: "no occurrence", expr: "'tacocat'.indexOf('none')", is: "-1", cost: 0 },
  { why: "an index counts code points", expr: "'\u{1f600}\u{1f600}a'.indexOf('a')", is: "2", cost: 0 },
  { why: "the search starts at an index", expr: "'tacocat'.indexOf('a', 3)", is: "5", cost: 0 },
  { why: "a search that starts at the match finds it", expr: "'tacocat'.indexOf('t', 6)", is: "6", cost: 0 },
  { why: "a search that starts behind the string finds nothing", expr: "'tacocat'.indexOf('t', 7)", is: "-1", cost: 0 },
  {
    why: "a start behind an emoji is an index in code points",
    expr: "'a\u{1f600}b\u{1f600}'.indexOf('\u{1f600}', 2)",
    is: "3",
    cost: 1,
  },
  { why: "an empty part is found where the search starts", expr: "'tacocat'.indexOf('', 100)", is: "100", cost: 0 },
  { why: "even at a negative index", expr: "'tacocat'.indexOf('', -1)", is: "-1", cost: 0 },
  { why: "any other part is not", expr: "'tacocat'.indexOf('ta', -1)", is: "ERR index out of range: -1", cost: 0 },
]);

testAnswers([
  { why: "the last occurrence", expr: "'tacocat'.lastIndexOf('at')", is: "5", cost: 0 },
  { why: "the occurrence that starts at the index", expr: "'tacocat'.lastIndexOf('at', 5)", is: "5", cost: 0 },
  { why: "an occurrence behind the index does not count", expr: "'tacocat'.lastIndexOf('at', 4)", is: "-1", cost: 0 },
  { why: "an index behind the string finds nothing", expr: "'tacocat'.lastIndexOf('at', 100)", is: "-1", cost: 0 },
  {
    why: "a negative index is out of range",
    expr: "'tacocat'.lastIndexOf('ta', -1)",
    is: "ERR index out of range: -1",
    cost: 0,
  },
  { why: "an empty part is at the end", expr: "'a\u{1f600}'.lastIndexOf('')", is: "2", cost: 0 },
  { why: "an empty part is at the index", expr: "'tacocat'.lastIndexOf('', 3)", is: "3", cost: 0 },
  { why: "a part longer than the string is not found", expr: "'a'.lastIndexOf('ab')", is: "-1", cost: 0 },
  { why: "nothing is found in an empty string", expr: "''.lastIndexOf('a')", is: "-1", cost: 0 },
  { why: "nor a part with as many bytes but more characters", expr: "'\u00e9'.lastIndexOf('ab')", is: "-1", cost: 0 },
  { why: "an index counts code points", expr: "'\u{1f600}a\u{1f600}a'.lastIndexOf('a')", is: "3", cost: 1 },
]);

testAnswers([
  { why: "only ASCII letters change", expr: "'\u00c0bC\u00df'.lowerAscii()", is: '"\u00c0bc\u00df"', cost: 1 },
  { why: "only ASCII letters change", expr: "'\u00e0bC\u00df'.upperAscii()", is: '"\u00e0BC\u00df"', cost: 1 },
]);

testAnswers([
  { why: "all occurrences are replaced", expr: "'aaa'.replace('a', 'bb')", is: '"bbbbbb"', cost: 1 },
  { why: "a limit of occurrences", expr: "'aaa'.replace('a', 'b', 2)", is: '"bba"', cost: 1 },
  { why: "a limit of 0 replaces nothing", expr: "'aaa'.replace('a', 'b', 0)", is: '"aaa"', cost: 1 },
  { why: "a negative limit has no effect", expr: "'aaa'.replace('a', 'b', -5)", is: '"bbb"', cost: 1 },
  { why: "a limit above the number of occurrences", expr: "'aaa'.replace('a', 'b', 9)", is: '"bbb"', cost: 1 },
  {
    why: "an empty part is found around each character",
    expr: "'\u{1f600}a'.replace('', '-')",
    is: '"-\u{1f600}-a-"',
    cost: 1,
  },
  { why: "a limit for an empty part", expr: "'aaa'.replace('', '-', 2)", is: '"-a-aa"', cost: 1 },
  { why: "an empty part in an empty string", expr: "''.replace('', '-')", is: '"-"', cost: 0 },
  { why: "no occurrence leaves the string", expr: "'aaa'.replace('x', 'y')", is: '"aaa"', cost: 1 },
  { why: "a replacement can delete", expr: "'a-b-c'.replace('-', '')", is: '"abc"', cost: 1 },
  { why: "occurrences do not overlap", expr: "'aaaa'.replace('aa', 'b')", is: '"bb"', cost: 1 },
]);

testAnswers([
  { why: "all parts", expr: "'a,b,,c'.split(',')", is: '["a", "b", "", "c"]', cost: 2 },
  { why: "no separator in the string gives one part", expr: "'abc'.split(',')", is: '["abc"]', cost: 1 },
  {
    why: "an empty separator splits into code points",
    expr: "'a\u{1f600}c'.split('')",
    is: '["a", "\u{1f600}", "c"]',
    cost: 1,
  },
  { why: "an empty string with a separator is one empty part", expr: "''.split(',')", is: '[""]', cost: 0 },
  { why: "an empty string without a separator has no parts", expr: "''.split('')", is: "[]", cost: 0 },
  { why: "a limit of 0 gives no parts", expr: "'a,b,c'.split(',', 0)", is: "[]", cost: 1 },
  { why: "a limit of 1 gives the string", expr: "'a,b,c'.split(',', 1)", is: '["a,b,c"]', cost: 1 },
  { why: "the last part within the limit holds the rest", expr: "'a,b,c'.split(',', 2)", is: '["a", "b,c"]', cost: 1 },
  { why: "a limit equal to the number of parts", expr: "'a,b,c'.split(',', 3)", is: '["a", "b", "c"]', cost: 1 },
  { why: "a limit above the number of parts", expr: "'a,b,c'.split(',', 4)", is: '["a", "b", "c"]', cost: 1 },
  { why: "a negative limit has no effect", expr: "'a,b,c'.split(',', -1)", is: '["a", "b", "c"]', cost: 1 },
  { why: "a limit without a separator", expr: "'a\u{1f600}c'.split('', 2)", is: '["a", "\u{1f600}c"]', cost: 1 },
]);

testAnswers([
  { why: "from an index to the end", expr: "'a\u{1f600}b'.substring(1)", is: '"\u{1f600}b"', cost: 1 },
  { why: "from the end on there is nothing", expr: "'abc'.substring(3)", is: '""', cost: 1 },
  { why: "from behind the end", expr: "'abc'.substring(4)", is: "ERR index out of range: 4", cost: 1 },
  { why: "from a negative index", expr: "'abc'.substring(-1)", is: "ERR index out of range: -1", cost: 1 },
  { why: "from one index up to another", expr: "'a\u{1f600}bc'.substring(1, 3)", is: '"\u{1f600}b"', cost: 1 },
  { why: "an empty range", expr: "'abc'.substring(1, 1)", is: '""', cost: 1 },
  {
    why: "a range whose end is before its start",
    expr: "'abc'.substring(2, 1)",
    is: "ERR invalid substring range. start: 2, end: 1",
    cost: 1,
  },
  { why: "a range with a negative start", expr: "'abc'.substring(-1, 1)", is: "ERR index out of range: -1", cost: 1 },
  { why: "a range with two negative ends", expr: "'abc'.substring(-2, -1)", is: "ERR index out of range: -2", cost: 1 },
  {
    why: "a range that ends behind the string",
    expr: "'abc'.substring(0, 4)",
    is: "ERR index out of range: 4",
    cost: 1,
  },
]);

testAnswers([
  {
    why: "spaces of Unicode go",
    expr: "' \\u0085\\u00a0\\u2003\\u3000\\u1680 a b \\u205f\\t\\n'.trim()",
    is: '"a b"',
    cost: 2,
  },
  { why: "a byte order mark stays", expr: "'\\ufeffa\\ufeff'.trim()", is: '"\ufeffa\ufeff"', cost: 1 },
  { why: "a zero width space stays", expr: "'\\u200ba'.trim()", is: '"\u200ba"', cost: 1 },
  { why: "nothing but spaces", expr: "' \\t\\n'.trim()", is: '""', cost: 1 },
]);

testAnswers([
  {
    why: "what Go escapes is escaped",
    expr: "strings.quote('a\"b\\\\c\\n\\t\\a\\b\\f\\r\\v')",
    is: '"\\"a\\\\\\"b\\\\\\\\c\\\\n\\\\t\\\\a\\\\b\\\\f\\\\r\\\\v\\""',
    cost: 2,
  },
  {
    why: "other characters stay as they are",
    expr: "strings.quote('\\'?\\u0000\u00e9\u{1f600}')",
    is: '"\\"\'?\\u0000\u00e9\u{1f600}\\""',
    cost: 1,
  },
]);

testAnswers([
  { why: "without a separator", expr: "['a', 'b'].join()", is: '"ab"', cost: 1 },
  { why: "with a separator", expr: "['a', 'b', 'c'].join(', ')", is: '"a, b, c"', cost: 2 },
  { why: "one element has no separator", expr: "['a'].join('-')", is: '"a"', cost: 1 },
  { why: "no elements", expr: "[].join('-')", is: '""', cost: 0 },
  {
    why: "an element that is not a string",
    expr: "[dyn('a'), dyn(1)].join('-')",
    is: "ERR join: invalid input: 1",
    cost: 1,
  },
  { why: "an element that is a list", expr: "[dyn([1])].join()", is: "ERR no such overload: join(list)", cost: 1 },
]);

testAnswers(
  [
    {
      why: "a bounded string costs its bytes",
      expr: "self.s.lowerAscii()",
      is: '"abcabcabc"',
      cost: 3,
      min: 2n,
      max: 6n,
    },
    {
      why: "the size of an unbounded string is that of a request",
      expr: "self.t.upperAscii()",
      is: '"X"',
      cost: 3,
      min: 2n,
      max: 314575n,
    },
    {
      why: "what is cut off has at most the size of the whole",
      expr: "self.s.substring(1).contains('abc')",
      is: "true",
      cost: 4,
      min: 2n,
      max: 10n,
    },
    {
      why: "a trimmed string has at most the size of the whole",
      expr: "self.s.trim().contains('abc')",
      is: "true",
      cost: 4,
      min: 2n,
      max: 10n,
    },
    { why: "a search costs the string", expr: "self.s.indexOf('c')", is: "2", cost: 2, min: 2n, max: 6n },
    {
      why: "a search from the end costs the string",
      expr: "self.s.lastIndexOf('c')",
      is: "8",
      cost: 2,
      min: 2n,
      max: 6n,
    },
    { why: "one character has no size", expr: "self.s.charAt(0)", is: '"a"', cost: 3, min: 3n, max: 3n },
    {
      why: "a replacement by something longer grows",
      expr: "self.s.replace('a', 'bbbb').contains('b')",
      is: "true",
      cost: 6,
      min: 2n,
      max: 26n,
    },
    {
      why: "a replacement by something shorter does not",
      expr: "self.s.replace('abc', 'd').contains('b')",
      is: "false",
      cost: 5,
      min: 2n,
      max: 14n,
    },
    {
      why: "a replacement of the same length",
      expr: "self.s.replace('a', 'b').contains('b')",
      is: "true",
      cost: 5,
      min: 2n,
      max: 14n,
    },
    {
      why: "a replacement of the empty string is made between all characters",
      expr: "self.s.replace('', '--').contains('b')",
      is: "true",
      cost: 7,
      min: 3n,
      max: 23n,
    },
    {
      why: "a replacement by a string of the object",
      expr: "self.s.replace('ab', self.s).contains('b')",
      is: "true",
      cost: 9,
      min: 4n,
      max: 92n,
    },
    {
      why: "a replacement of a string of the object",
      expr: "self.s.replace(self.s, 'xy').contains('b')",
      is: "false",
      cost: 7,
      min: 4n,
      max: 25n,
    },
    {
      why: "a replacement in an unbounded string",
      expr: "self.t.replace('', self.s).contains('b')",
      is: "true",
      cost: 7,
      min: 4n,
      max: 13526631n,
    },
    {
      why: "a replacement in a literal",
      expr: "'aaaa'.replace(self.s, 'b').contains('b')",
      is: "false",
      cost: 4,
      min: 4n,
      max: 4n,
    },
    {
      why: "a limit does not change the estimate",
      expr: "self.s.replace('a', 'bb', 1).contains('b')",
      is: "true",
      cost: 5,
      min: 2n,
      max: 18n,
    },
    {
      why: "parts are as many as characters",
      expr: "self.s.split('').exists(p, p == 'a')",
      is: "true",
      cost: 14,
      min: 3n,
      max: 211n,
    },
    {
      why: "a literal limit bounds the parts",
      expr: "self.s.split('b', 2).exists(p, p == 'a')",
      is: "true",
      cost: 14,
      min: 3n,
      max: 21n,
    },
    {
      why: "a negative limit is taken for a huge one",
      expr: "self.s.split('b', -1).exists(p, p == 'a')",
      is: "true",
      cost: 14,
      min: 3n,
      max: 18446744073709551615n,
    },
    {
      why: "a limit of the object does not",
      expr: "self.s.split('b', self.n).exists(p, p == 'a')",
      is: "true",
      cost: 16,
      min: 5n,
      max: 213n,
    },
    {
      why: "joined elements and separators",
      expr: "self.l.join('--').contains('a')",
      is: "true",
      cost: 4,
      min: 2n,
      max: 16n,
    },
    { why: "joined elements", expr: "self.l.join().contains('a')", is: "true", cost: 4, min: 2n, max: 14n },
    {
      why: "joined literals",
      expr: "['ab', 'c'].join('-').contains('a')",
      is: "true",
      cost: 2,
      min: 12n,
      max: 3689348814741910538n,
    },
    {
      why: "nothing joined",
      expr: "[''].join('-').contains('a')",
      is: "false",
      cost: 0,
      min: 10n,
      max: 3689348814741910538n,
    },
    {
      why: "an unbounded separator",
      expr: "self.l.join(self.t).contains('a')",
      is: "true",
      cost: 6,
      min: 4n,
      max: 2516598n,
    },
    {
      why: "quotes are added to a string",
      expr: "strings.quote(self.s).contains('a')",
      is: "true",
      cost: 5,
      min: 3n,
      max: 15n,
    },
    {
      why: "quotes of an unbounded string",
      expr: "strings.quote(self.t).contains('a')",
      is: "false",
      cost: 4,
      min: 3n,
      max: 943721n,
    },
    {
      why: "the size of a formatted string is unknown",
      expr: "'%s'.format([self.s]).contains('a')",
      is: "true",
      cost: 14,
      min: 13n,
      max: 1844674407370955277n,
    },
    {
      why: "a template of the object costs its size",
      expr: "self.s.format([]).contains('a')",
      is: "true",
      cost: 4,
      min: 12n,
      max: 1844674407370955280n,
    },
  ],
  subject,
);
