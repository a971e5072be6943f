// SPDX-License-Identifier: Apache-2.0
// What the parser says about texts that are not expressions, and what it makes of unusual ones.

import { testAnswers } from "../../test/answers.ts";

testAnswers([
  {
    why: "an unknown character",
    expr: "1 # 2",
    is: "COMPILE ERROR: <input>:1:3: Syntax error: token recognition error at: '#'\n | 1 # 2\n | ..^\nERROR: <input>:1:5: Syntax error: extraneous input '2' expecting <EOF>\n | 1 # 2\n | ....^",
  },
  {
    why: "a single ampersand",
    expr: "true & false",
    is: "COMPILE ERROR: <input>:1:6: Syntax error: token recognition error at: '& '\n | true & false\n | .....^\nERROR: <input>:1:8: Syntax error: extraneous input 'false' expecting <EOF>\n | true & false\n | .......^",
  },
  {
    why: "a single pipe",
    expr: "true | false",
    is: "COMPILE ERROR: <input>:1:6: Syntax error: token recognition error at: '| '\n | true | false\n | .....^\nERROR: <input>:1:8: Syntax error: extraneous input 'false' expecting <EOF>\n | true | false\n | .......^",
  },
  {
    why: "an equals sign",
    expr: "1 = 1",
    is: "COMPILE ERROR: <input>:1:3: Syntax error: token recognition error at: '= '\n | 1 = 1\n | ..^\nERROR: <input>:1:5: Syntax error: extraneous input '1' expecting <EOF>\n | 1 = 1\n | ....^",
  },
  {
    why: "a string that is not closed",
    expr: "'abc",
    is: "COMPILE ERROR: <input>:1:1: Syntax error: token recognition error at: ''abc'\n | 'abc\n | ^\nERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 'abc\n | ....^",
  },
  {
    why: "a triple string that is not closed",
    expr: "'''abc",
    is: "COMPILE ERROR: <input>:1:3: Syntax error: token recognition error at: ''abc'\n | '''abc\n | ..^",
  },
  {
    why: "a dollar sign",
    expr: "$a",
    is: "COMPILE ERROR: <input>:1:1: Syntax error: token recognition error at: '$'\n | $a\n | ^",
  },
  {
    why: "an escape that does not exist",
    expr: "'\\q'",
    is: "COMPILE ERROR: <input>:1:1: Syntax error: token recognition error at: ''\\q'\n | '\\q'\n | ^\nERROR: <input>:1:4: Syntax error: token recognition error at: '''\n | '\\q'\n | ...^\nERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | '\\q'\n | ....^",
  },
  {
    why: "an octal escape that is too large",
    expr: "'\\400'",
    is: "COMPILE ERROR: <input>:1:1: Syntax error: token recognition error at: ''\\4'\n | '\\400'\n | ^\nERROR: <input>:1:6: Syntax error: token recognition error at: '''\n | '\\400'\n | .....^",
  },
  {
    why: "a short hexadecimal escape",
    expr: "'\\x1'",
    is: "COMPILE ERROR: <input>:1:1: Syntax error: token recognition error at: ''\\x1''\n | '\\x1'\n | ^\nERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | '\\x1'\n | .....^",
  },
  {
    why: "a surrogate",
    expr: "'\\ud800'",
    is: "COMPILE ERROR: <input>:1:1: invalid unicode code point\n | '\\ud800'\n | ^",
  },
  {
    why: "a code point that is too large",
    expr: "'\\U00110000'",
    is: "COMPILE ERROR: <input>:1:1: invalid unicode code point\n | '\\U00110000'\n | ^",
  },
  {
    why: "a line break in a string",
    expr: "'a",
    is: "COMPILE ERROR: <input>:1:1: Syntax error: token recognition error at: ''a'\n | 'a\n | ^\nERROR: <input>:1:3: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 'a\n | ..^",
  },
  {
    why: "an int that is too large",
    expr: "9223372036854775808",
    is: "COMPILE ERROR: <input>:1:1: invalid int literal\n | 9223372036854775808\n | ^",
  },
  { why: "the least int", expr: "-9223372036854775808", is: "-9223372036854775808", cost: 0 },
  {
    why: "an int that is too small",
    expr: "-9223372036854775809",
    is: "COMPILE ERROR: <input>:1:1: invalid int literal\n | -9223372036854775809\n | ^",
  },
  {
    why: "a hexadecimal int that is too large",
    expr: "0x10000000000000000",
    is: "COMPILE ERROR: <input>:1:1: invalid int literal\n | 0x10000000000000000\n | ^",
  },
  {
    why: "a uint that is too large",
    expr: "18446744073709551616u",
    is: "COMPILE ERROR: <input>:1:1: invalid uint literal\n | 18446744073709551616u\n | ^",
  },
  {
    why: "a double that is too large",
    expr: "1e400",
    is: "COMPILE ERROR: <input>:1:1: invalid double literal\n | 1e400\n | ^",
  },
  {
    why: "a number with a letter",
    expr: "1a",
    is: "COMPILE ERROR: <input>:1:2: Syntax error: extraneous input 'a' expecting <EOF>\n | 1a\n | .^",
  },
  {
    why: "a number with two points",
    expr: "1.2.3",
    is: "COMPILE ERROR: <input>:1:4: Syntax error: extraneous input '.3' expecting <EOF>\n | 1.2.3\n | ...^",
  },
]);

testAnswers([
  {
    why: "an operator without a right side",
    expr: "1 +",
    is: "COMPILE ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 1 +\n | ...^",
  },
  {
    why: "an operator without a left side",
    expr: "* 2",
    is: "COMPILE ERROR: <input>:1:1: Syntax error: extraneous input '*' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | * 2\n | ^",
  },
  {
    why: "two operands",
    expr: "1 2",
    is: "COMPILE ERROR: <input>:1:3: Syntax error: extraneous input '2' expecting <EOF>\n | 1 2\n | ..^",
  },
  {
    why: "an open parenthesis",
    expr: "(1",
    is: "COMPILE ERROR: <input>:1:3: Syntax error: missing ')' at '<EOF>'\n | (1\n | ..^",
  },
  {
    why: "a closing parenthesis",
    expr: "1)",
    is: "COMPILE ERROR: <input>:1:2: Syntax error: extraneous input ')' expecting <EOF>\n | 1)\n | .^",
  },
  {
    why: "an open bracket",
    expr: "[1, 2",
    is: "COMPILE ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting {']', ','}\n | [1, 2\n | .....^",
  },
  {
    why: "an open brace",
    expr: "{'a': 1",
    is: "COMPILE ERROR: <input>:1:8: Syntax error: mismatched input '<EOF>' expecting {'}', ','}\n | {'a': 1\n | .......^",
  },
  {
    why: "a map without a value",
    expr: "{'a'}",
    is: "COMPILE ERROR: <input>:1:5: Syntax error: mismatched input '}' expecting ':'\n | {'a'}\n | ....^",
  },
  {
    why: "a map without a key",
    expr: "{: 1}",
    is: "COMPILE ERROR: <input>:1:2: Syntax error: extraneous input ':' expecting {'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | {: 1}\n | .^\nERROR: <input>:1:5: Syntax error: mismatched input '}' expecting ':'\n | {: 1}\n | ....^",
  },
  {
    why: "a list with two commas",
    expr: "[1,, 2]",
    is: "COMPILE ERROR: <input>:1:4: Syntax error: mismatched input ',' expecting ']'\n | [1,, 2]\n | ...^",
  },
  { why: "a list with a comma at the end", expr: "[1, 2,]", is: "[1, 2]", cost: 0 },
  { why: "a map with a comma at the end", expr: "{'a': 1,}", is: '{"a": 1}', cost: 0 },
  { why: "only a comma in a list", expr: "[,]", is: "[]", cost: 0 },
  { why: "only a comma in a map", expr: "{,}", is: "{}", cost: 0 },
  {
    why: "a call with a comma at the end",
    expr: "size([1],)",
    is: "COMPILE ERROR: <input>:1:10: Syntax error: mismatched input ')' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | size([1],)\n | .........^",
  },
  {
    why: "a condition without a colon",
    expr: "true ? 1",
    is: "COMPILE ERROR: <input>:1:9: Syntax error: mismatched input '<EOF>' expecting ':'\n | true ? 1\n | ........^",
  },
  {
    why: "a condition without a side",
    expr: "true ? : 2",
    is: "COMPILE ERROR: <input>:1:8: Syntax error: extraneous input ':' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | true ? : 2\n | .......^\nERROR: <input>:1:11: Syntax error: mismatched input '<EOF>' expecting ':'\n | true ? : 2\n | ..........^",
  },
  {
    why: "a point at the end",
    expr: "a.",
    is: "COMPILE ERROR: <input>:1:3: Syntax error: no viable alternative at input '.'\n | a.\n | ..^",
  },
  {
    why: "a point before a number",
    expr: "a.1",
    is: "COMPILE ERROR: <input>:1:2: Syntax error: extraneous input '.1' expecting <EOF>\n | a.1\n | .^",
  },
  {
    why: "a method without parentheses closed",
    expr: "'a'.size(",
    is: "COMPILE ERROR: <input>:1:10: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 'a'.size(\n | .........^",
  },
  {
    why: "an index without a bracket closed",
    expr: "[1][0",
    is: "COMPILE ERROR: <input>:1:6: Syntax error: missing ']' at '<EOF>'\n | [1][0\n | .....^",
  },
  {
    why: "an empty index",
    expr: "[1][]",
    is: "COMPILE ERROR: <input>:1:5: Syntax error: mismatched input ']' expecting {'[', '{', '(', '.', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | [1][]\n | ....^",
  },
  { why: "two nots", expr: "!!true", is: "true", cost: 0 },
  { why: "three minuses", expr: "---1", is: "-1", cost: 1 },
  {
    why: "not and minus",
    expr: "!-1",
    is: "COMPILE ERROR: <input>:1:1: found no matching overload for '!_' applied to '(int)'\n | !-1\n | ^",
  },
  {
    why: "a comparison of comparisons",
    expr: "1 < 2 < 3",
    is: "COMPILE ERROR: <input>:1:7: found no matching overload for '_<_' applied to '(bool, int)'\n | 1 < 2 < 3\n | ......^",
  },
  { why: "a condition in a condition needs no parentheses", expr: "false ? 1 : true ? 2 : 3", is: "2", cost: 0 },
  {
    why: "an assignment",
    expr: "a := 1",
    is: "COMPILE ERROR: <input>:1:3: Syntax error: mismatched input ':' expecting <EOF>\n | a := 1\n | ..^\nERROR: <input>:1:4: Syntax error: token recognition error at: '= '\n | a := 1\n | ...^",
  },
  {
    why: "a statement",
    expr: "1; 2",
    is: "COMPILE ERROR: <input>:1:2: Syntax error: token recognition error at: ';'\n | 1; 2\n | .^\nERROR: <input>:1:4: Syntax error: extraneous input '2' expecting <EOF>\n | 1; 2\n | ...^",
  },
  {
    why: "a lambda",
    expr: "x -> x",
    is: "COMPILE ERROR: <input>:1:4: Syntax error: extraneous input '>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | x -> x\n | ...^",
  },
  { why: "a keyword as a name", expr: "for", is: "COMPILE ERROR: <input>:1:1: reserved identifier: for\n | for\n | ^" },
  {
    why: "another keyword",
    expr: "let + 1",
    is: "COMPILE ERROR: <input>:1:1: reserved identifier: let\n | let + 1\n | ^",
  },
  {
    why: "a keyword as a function",
    expr: "if(1)",
    is: "COMPILE ERROR: <input>:1:1: reserved identifier: if\n | if(1)\n | ^",
  },
  {
    why: "in as a name",
    expr: "in",
    is: "COMPILE ERROR: <input>:1:1: Syntax error: mismatched input 'in' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | in\n | ^\nERROR: <input>:1:3: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | in\n | ..^",
  },
  { why: "a field named like a keyword", expr: "{'for': 1}.for", is: "1", cost: 2 },
  {
    why: "a field in backquotes",
    expr: "{'a-b': 1}.`a-b`",
    is: "COMPILE ERROR: <input>:1:12: unsupported syntax: '`'\n | {'a-b': 1}.`a-b`\n | ...........^",
  },
  {
    why: "an index in backquotes",
    expr: "`a`",
    is: "COMPILE ERROR: <input>:1:1: Syntax error: mismatched input '`a`' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | `a`\n | ^",
  },
  {
    why: "an empty name in backquotes",
    expr: "{'a': 1}.``",
    is: "COMPILE ERROR: <input>:1:10: Syntax error: token recognition error at: '``'\n | {'a': 1}.``\n | .........^\nERROR: <input>:1:12: Syntax error: no viable alternative at input '.'\n | {'a': 1}.``\n | ...........^",
  },
  {
    why: "a struct with a keyword",
    expr: "while{}",
    is: "COMPILE ERROR: <input>:1:6: undeclared reference to 'while' (in container '')\n | while{}\n | .....^",
  },
  { why: "a comment", expr: "1 // 2", is: "1", cost: 0 },
  {
    why: "only a comment",
    expr: "// 1",
    is: "COMPILE ERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | // 1\n | ....^",
  },
  {
    why: "a comment at the end of a line",
    expr: "1 + // one",
    is: "COMPILE ERROR: <input>:1:11: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 1 + // one\n | ..........^",
  },
]);

testAnswers([
  {
    why: "two errors",
    expr: "1 # 2 # 3",
    is: "COMPILE ERROR: <input>:1:3: Syntax error: token recognition error at: '#'\n | 1 # 2 # 3\n | ..^\nERROR: <input>:1:5: Syntax error: mismatched input '2' expecting <EOF>\n | 1 # 2 # 3\n | ....^\nERROR: <input>:1:7: Syntax error: token recognition error at: '#'\n | 1 # 2 # 3\n | ......^",
  },
  {
    why: "an error on each line",
    expr: "'a' +",
    is: "COMPILE ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 'a' +\n | .....^",
  },
]);
