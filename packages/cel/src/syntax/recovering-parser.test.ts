// SPDX-License-Identifier: Apache-2.0
// What the parser says about texts that are not expressions, and what it makes of unusual ones.

import { testAnswers } from "../../test/expressions.ts";

testAnswers([
  {
    why: "an unknown character",
    expr: "1 # 2",
    refused: [
      "3: Syntax error: token recognition error at: '#'",
      "5: Syntax error: extraneous input '2' expecting <EOF>",
    ],
  },
  {
    why: "a single ampersand",
    expr: "true & false",
    refused: [
      "6: Syntax error: token recognition error at: '& '",
      "8: Syntax error: extraneous input 'false' expecting <EOF>",
    ],
  },
  {
    why: "a single pipe",
    expr: "true | false",
    refused: [
      "6: Syntax error: token recognition error at: '| '",
      "8: Syntax error: extraneous input 'false' expecting <EOF>",
    ],
  },
  {
    why: "an equals sign",
    expr: "1 = 1",
    refused: [
      "3: Syntax error: token recognition error at: '= '",
      "5: Syntax error: extraneous input '1' expecting <EOF>",
    ],
  },
  {
    why: "a string that is not closed",
    expr: "'abc",
    refused: [
      "1: Syntax error: token recognition error at: ''abc'",
      "5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
    ],
  },
  {
    why: "a triple string that is not closed",
    expr: "'''abc",
    refused: "3: Syntax error: token recognition error at: ''abc'",
  },
  { why: "a dollar sign", expr: "$a", refused: "1: Syntax error: token recognition error at: '$'" },
  {
    why: "an escape that does not exist",
    expr: "'\\q'",
    refused: [
      "1: Syntax error: token recognition error at: ''\\q'",
      "4: Syntax error: token recognition error at: '''",
      "5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
    ],
  },
  {
    why: "an octal escape that is too large",
    expr: "'\\400'",
    refused: [
      "1: Syntax error: token recognition error at: ''\\4'",
      "6: Syntax error: token recognition error at: '''",
    ],
  },
  {
    why: "a short hexadecimal escape",
    expr: "'\\x1'",
    refused: [
      "1: Syntax error: token recognition error at: ''\\x1''",
      "6: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
    ],
  },
  { why: "a surrogate", expr: "'\\ud800'", refused: "1: invalid unicode code point" },
  { why: "a code point that is too large", expr: "'\\U00110000'", refused: "1: invalid unicode code point" },
  {
    why: "a line break in a string",
    expr: "'a",
    refused: [
      "1: Syntax error: token recognition error at: ''a'",
      "3: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
    ],
  },
  { why: "an int that is too large", expr: "9223372036854775808", refused: "1: invalid int literal" },
  { why: "the least int", expr: "-9223372036854775808", is: "-9223372036854775808", cost: 0 },
  { why: "an int that is too small", expr: "-9223372036854775809", refused: "1: invalid int literal" },
  { why: "a hexadecimal int that is too large", expr: "0x10000000000000000", refused: "1: invalid int literal" },
  { why: "a uint that is too large", expr: "18446744073709551616u", refused: "1: invalid uint literal" },
  { why: "a double that is too large", expr: "1e400", refused: "1: invalid double literal" },
  { why: "a number with a letter", expr: "1a", refused: "2: Syntax error: extraneous input 'a' expecting <EOF>" },
  { why: "a number with two points", expr: "1.2.3", refused: "4: Syntax error: extraneous input '.3' expecting <EOF>" },
]);

testAnswers([
  {
    why: "an operator without a right side",
    expr: "1 +",
    refused:
      "4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  },
  {
    why: "an operator without a left side",
    expr: "* 2",
    refused:
      "1: Syntax error: extraneous input '*' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  },
  { why: "two operands", expr: "1 2", refused: "3: Syntax error: extraneous input '2' expecting <EOF>" },
  { why: "an open parenthesis", expr: "(1", refused: "3: Syntax error: missing ')' at '<EOF>'" },
  { why: "a closing parenthesis", expr: "1)", refused: "2: Syntax error: extraneous input ')' expecting <EOF>" },
  { why: "an open bracket", expr: "[1, 2", refused: "6: Syntax error: mismatched input '<EOF>' expecting {']', ','}" },
  { why: "an open brace", expr: "{'a': 1", refused: "8: Syntax error: mismatched input '<EOF>' expecting {'}', ','}" },
  { why: "a map without a value", expr: "{'a'}", refused: "5: Syntax error: mismatched input '}' expecting ':'" },
  {
    why: "a map without a key",
    expr: "{: 1}",
    refused: [
      "2: Syntax error: extraneous input ':' expecting {'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
      "5: Syntax error: mismatched input '}' expecting ':'",
    ],
  },
  { why: "a list with two commas", expr: "[1,, 2]", refused: "4: Syntax error: mismatched input ',' expecting ']'" },
  { why: "a list with a comma at the end", expr: "[1, 2,]", is: "[1, 2]", cost: 0 },
  { why: "a map with a comma at the end", expr: "{'a': 1,}", is: '{"a": 1}', cost: 0 },
  { why: "only a comma in a list", expr: "[,]", is: "[]", cost: 0 },
  { why: "only a comma in a map", expr: "{,}", is: "{}", cost: 0 },
  {
    why: "a call with a comma at the end",
    expr: "size([1],)",
    refused:
      "10: Syntax error: mismatched input ')' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  },
  {
    why: "a condition without a colon",
    expr: "true ? 1",
    refused: "9: Syntax error: mismatched input '<EOF>' expecting ':'",
  },
  {
    why: "a condition without a side",
    expr: "true ? : 2",
    refused: [
      "8: Syntax error: extraneous input ':' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
      "11: Syntax error: mismatched input '<EOF>' expecting ':'",
    ],
  },
  { why: "a point at the end", expr: "a.", refused: "3: Syntax error: no viable alternative at input '.'" },
  { why: "a point before a number", expr: "a.1", refused: "2: Syntax error: extraneous input '.1' expecting <EOF>" },
  {
    why: "a method without parentheses closed",
    expr: "'a'.size(",
    refused:
      "10: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  },
  { why: "an index without a bracket closed", expr: "[1][0", refused: "6: Syntax error: missing ']' at '<EOF>'" },
  {
    why: "an empty index",
    expr: "[1][]",
    refused:
      "5: Syntax error: mismatched input ']' expecting {'[', '{', '(', '.', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  },
  { why: "two nots", expr: "!!true", is: "true", cost: 0 },
  { why: "three minuses", expr: "---1", is: "-1", cost: 1 },
  { why: "not and minus", expr: "!-1", refused: "1: found no matching overload for '!_' applied to '(int)'" },
  {
    why: "a comparison of comparisons",
    expr: "1 < 2 < 3",
    refused: "7: found no matching overload for '_<_' applied to '(bool, int)'",
  },
  { why: "a condition in a condition needs no parentheses", expr: "false ? 1 : true ? 2 : 3", is: "2", cost: 0 },
  {
    why: "an assignment",
    expr: "a := 1",
    refused: [
      "3: Syntax error: mismatched input ':' expecting <EOF>",
      "4: Syntax error: token recognition error at: '= '",
    ],
  },
  {
    why: "a statement",
    expr: "1; 2",
    refused: [
      "2: Syntax error: token recognition error at: ';'",
      "4: Syntax error: extraneous input '2' expecting <EOF>",
    ],
  },
  {
    why: "a lambda",
    expr: "x -> x",
    refused:
      "4: Syntax error: extraneous input '>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  },
  { why: "a keyword as a name", expr: "for", refused: "1: reserved identifier: for" },
  { why: "another keyword", expr: "let + 1", refused: "1: reserved identifier: let" },
  { why: "a keyword as a function", expr: "if(1)", refused: "1: reserved identifier: if" },
  {
    why: "in as a name",
    expr: "in",
    refused: [
      "1: Syntax error: mismatched input 'in' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
      "3: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
    ],
  },
  { why: "a field named like a keyword", expr: "{'for': 1}.for", is: "1", cost: 2 },
  { why: "a field in backquotes", expr: "{'a-b': 1}.`a-b`", refused: "12: unsupported syntax: '`'" },
  {
    why: "an index in backquotes",
    expr: "`a`",
    refused:
      "1: Syntax error: mismatched input '`a`' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  },
  {
    why: "an empty name in backquotes",
    expr: "{'a': 1}.``",
    refused: [
      "10: Syntax error: token recognition error at: '``'",
      "12: Syntax error: no viable alternative at input '.'",
    ],
  },
  { why: "a struct with a keyword", expr: "while{}", refused: "6: undeclared reference to 'while' (in container '')" },
  { why: "a comment", expr: "1 // 2", is: "1", cost: 0 },
  {
    why: "only a comment",
    expr: "// 1",
    refused:
      "5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  },
  {
    why: "a comment at the end of a line",
    expr: "1 + // one",
    refused:
      "11: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  },
]);

testAnswers([
  {
    why: "two errors",
    expr: "1 # 2 # 3",
    refused: [
      "3: Syntax error: token recognition error at: '#'",
      "5: Syntax error: mismatched input '2' expecting <EOF>",
      "7: Syntax error: token recognition error at: '#'",
    ],
  },
  {
    why: "an error on each line",
    expr: "'a' +",
    refused:
      "6: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  },
]);
