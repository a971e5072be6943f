// SPDX-License-Identifier: Apache-2.0

import { stringSubject as subject, testAnswers } from "../../test/expressions.ts";

testAnswers([
  { why: "a part of a text", expr: "'abc'.matches('b')", is: "true", cost: 1 },
  { why: "the whole text", expr: "'abc'.matches('^b$')", is: "false", cost: 1 },
  { why: "a function", expr: "matches('abc', '^a.c$')", is: "true", cost: 1 },
  { why: "without regard to case", expr: "'ABC'.matches('(?i)abc')", is: "true", cost: 2 },
  { why: "a dot is not a line break", expr: "'a\\nb'.matches('a.b')", is: "false", cost: 1 },
  { why: "unless it may be", expr: "'a\\nb'.matches('(?s)a.b')", is: "true", cost: 2 },
  { why: "the end of a line", expr: "'a\\nb'.matches('(?m)a$')", is: "true", cost: 2 },
  { why: "the end of a text", expr: "'a\\nb'.matches('a$')", is: "false", cost: 1 },
  { why: "letters of Unicode", expr: "'\\u00e9'.matches('^\\\\pL$')", is: "true", cost: 2 },
  { why: "a class of POSIX", expr: "'ab1'.matches('^[[:alpha:]]+$')", is: "false", cost: 4 },
  { why: "a dot is a code point", expr: "'\\U0001F600'.matches('^.$')", is: "true", cost: 1 },
  { why: "an empty pattern", expr: "'a'.matches('')", is: "true", cost: 0 },
  { why: "a named group", expr: "'abc'.matches('(?P<n>b)')", is: "true", cost: 2 },
  { why: "a named group in the other form", expr: "'abc'.matches('(?<n>b)')", is: "true", cost: 2 },
  { why: "word boundaries are those of ASCII", expr: "'\\u00e9a'.matches('\\\\ba')", is: "true", cost: 1 },
  { why: "look-ahead does not exist", expr: "'abc'.matches('(?=b)')", refused: "15: invalid matches argument" },
  { why: "a backreference does not exist", expr: "'abc'.matches('(a)\\\\1')", refused: "15: invalid matches argument" },
  { why: "a count of 1000", expr: "'abc'.matches('b{1000}')", is: "false", cost: 2 },
  { why: "a count of 1001", expr: "'abc'.matches('b{1001}')", refused: "15: invalid matches argument" },
  {
    why: "a wrong pattern at run time",
    expr: "'abc'.matches(dyn('('))",
    is: "PLAN error parsing regexp: missing closing ): `(`",
  },
  {
    why: "a count that is too large at run time",
    expr: "'abc'.matches(dyn('b{1001}'))",
    is: "PLAN error parsing regexp: invalid repeat count: `{1001}`",
  },
  {
    why: "a nested quantifier",
    expr: "'abc'.matches(dyn('a**'))",
    is: "PLAN error parsing regexp: invalid nested repetition operator: `**`",
  },
  {
    why: "a wrong range",
    expr: "'abc'.matches(dyn('[z-a]'))",
    is: "PLAN error parsing regexp: invalid character class range: `z-a`",
  },
  {
    why: "a backslash at the end",
    expr: "'abc'.matches(dyn('a\\\\'))",
    is: "PLAN error parsing regexp: trailing backslash at end of expression: ``",
  },
  {
    why: "a count the wrong way round",
    expr: "'abc'.matches(dyn('a{2,1}'))",
    is: "PLAN error parsing regexp: invalid repeat count: `{2,1}`",
  },
  {
    why: "an escape that does not exist",
    expr: "'abc'.matches(dyn('\\\\Z'))",
    is: "PLAN error parsing regexp: invalid escape sequence: `\\Z`",
  },
  {
    why: "a bracket that is not closed",
    expr: "'abc'.matches(dyn('[a'))",
    is: "PLAN error parsing regexp: missing closing ]: `[a`",
  },
  {
    why: "a parenthesis that is not opened",
    expr: "'abc'.matches(dyn('a)'))",
    is: "PLAN error parsing regexp: unexpected ): `a)`",
  },
  {
    why: "nothing to repeat",
    expr: "'abc'.matches(dyn('*'))",
    is: "PLAN error parsing regexp: missing argument to repetition operator: `*`",
  },
  {
    why: "a wrong class",
    expr: "'abc'.matches(dyn('[[:word:]]')) && 'abc'.matches(dyn('[[:nope:]]'))",
    is: "PLAN error parsing regexp: invalid character class range: `[:nope:]`",
  },
  {
    why: "a wrong class of Unicode",
    expr: "'abc'.matches(dyn('\\\\p{Nope}'))",
    is: "PLAN error parsing regexp: invalid character class range: `\\p{Nope}`",
  },
  {
    why: "a flag that does not exist",
    expr: "'abc'.matches(dyn('(?x)a'))",
    is: "PLAN error parsing regexp: invalid or unsupported Perl syntax: `(?x`",
  },
  { why: "a value that is not a string", expr: "dyn(1).matches('a')", is: "ERR no such overload", cost: 1 },
  { why: "a pattern that is not a string", expr: "'a'.matches(dyn(1))", is: "ERR no such overload", cost: 1 },
]);

testAnswers([
  { why: "the first match", expr: "'abc123def456'.find('[0-9]+')", is: '"123"', cost: 4 },
  { why: "no match", expr: "'abc'.find('z')", is: '""', cost: 1 },
  { why: "an empty match", expr: "'abc'.find('')", is: '""', cost: 0 },
  { why: "groups do not matter", expr: "'abc'.find('(b)(c)')", is: '"bc"', cost: 2 },
  { why: "the leftmost match, the first alternative", expr: "'abcd'.find('b|bcd|abc')", is: '"abc"', cost: 3 },
  { why: "a wrong pattern", expr: "'abc'.find('(')", is: "PLAN error parsing regexp: missing closing ): `(`" },
  {
    why: "a wrong pattern at run time",
    expr: "'abc'.find(dyn('('))",
    is: "PLAN error parsing regexp: missing closing ): `(`",
  },
  {
    why: "a pattern that is not a string",
    expr: "'abc'.find(dyn(1))",
    is: "ERR no such overload: find(string, int)",
    cost: 1,
  },
]);

testAnswers([
  { why: "all matches", expr: "'abc123def456'.findAll('[0-9]+')", is: '["123", "456"]', cost: 4 },
  { why: "a limit", expr: "'abc123def456'.findAll('[0-9]+', 1)", is: '["123"]', cost: 4 },
  { why: "a limit of 0", expr: "'abc123def456'.findAll('[0-9]+', 0)", is: "[]", cost: 4 },
  {
    why: "a negative limit has no effect",
    expr: "'abc123def456'.findAll('[0-9]+', -1)",
    is: '["123", "456"]',
    cost: 4,
  },
  { why: "no match", expr: "'abc'.findAll('z')", is: "[]", cost: 1 },
  { why: "empty matches between characters", expr: "'ab'.findAll('')", is: '["", "", ""]', cost: 0 },
  { why: "an empty match after a match does not count", expr: "'baab'.findAll('a*')", is: '["", "aa", ""]', cost: 1 },
  { why: "code points", expr: "'\\u00e9\\U0001F600x'.findAll('.')", is: '["\u00e9", "\u{1f600}", "x"]', cost: 1 },
  {
    why: "a wrong pattern at run time",
    expr: "'abc'.findAll(dyn('[z-a]'))",
    is: "PLAN error parsing regexp: invalid character class range: `z-a`",
  },
]);

testAnswers(
  [
    {
      why: "a match costs the text times the pattern",
      expr: "self.s.matches('^[a-z]+$')",
      is: "false",
      cost: 6,
      min: 4n,
      max: 12n,
    },
    {
      why: "a match with a pattern of the object",
      expr: "'abc'.matches(self.s)",
      is: "false",
      cost: 5,
      min: 2n,
      max: 12n,
    },
    {
      why: "a function has no estimate of its own",
      expr: "matches(self.s, 'a')",
      is: "true",
      cost: 3,
      min: 3n,
      max: 3n,
    },
    {
      why: "what is found has at most the size of the text",
      expr: "self.s.find('[a-z]+').contains('abc')",
      is: "false",
      cost: 7,
      min: 4n,
      max: 16n,
    },
    {
      why: "all that is found",
      expr: "self.s.findAll('[a-z]').exists(f, f == 'a')",
      is: "true",
      cost: 40,
      min: 5n,
      max: 213n,
    },
    { why: "an unbounded text", expr: "self.t.matches('a')", is: "false", cost: 3, min: 3n, max: 314575n },
  ],
  subject,
);
