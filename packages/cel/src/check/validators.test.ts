// SPDX-License-Identifier: Apache-2.0

import { testAnswers } from "../../test/expressions.ts";

testAnswers([
  { why: "a wrong duration", expr: "duration('1d')", refused: "10: invalid duration argument" },
  { why: "a wrong timestamp", expr: "timestamp('2020-13-01T00:00:00Z')", refused: "11: invalid timestamp argument" },
  {
    why: "a number that is not a timestamp",
    expr: "timestamp(253402300800)",
    refused: "11: invalid timestamp argument",
  },
  { why: "a right timestamp of a number", expr: "timestamp(0)", is: "timestamp 1970-01-01T00:00:00Z", cost: 0 },
  { why: "a wrong pattern", expr: "'a'.matches('(')", refused: "13: invalid matches argument" },
  {
    why: "a wrong pattern of a function is looked at as text",
    expr: "matches('(', 'a')",
    refused: "9: invalid matches argument",
  },
  {
    why: "a pattern that is not a literal is not looked at",
    expr: "'a'.matches('(' + 'a')",
    is: "ERR error parsing regexp: missing closing ): `(a`",
    cost: 2,
  },
  {
    why: "wrong literals are reported by kind and then by place",
    expr: "[duration('x') == duration('1s'), timestamp('x') == timestamp(0), 'a'.matches('['), duration('y') == duration('1s')]",
    refused: [
      "11: invalid duration argument",
      "45: invalid timestamp argument",
      "79: invalid matches argument",
      "94: invalid duration argument",
    ],
  },
  {
    why: "a wrong literal in a comprehension",
    expr: "[1].all(e, duration('x') > duration('1s'))",
    refused: "21: invalid duration argument",
  },
  { why: "a wrong literal in a map", expr: "{'a': duration('x')}", refused: "16: invalid duration argument" },
  {
    why: "a wrong literal in a condition",
    expr: "true ? duration('x') : duration('1s')",
    refused: "17: invalid duration argument",
  },
]);

testAnswers([
  { why: "elements of one type", expr: "[1, 2, 3]", is: "[1, 2, 3]", cost: 0 },
  {
    why: "the first element of another type is reported",
    expr: "[1, 'a', 2.0]",
    refused: "5: expected type 'int' but found 'string'",
  },
  { why: "elements that are dynamic", expr: "[dyn(1), dyn('a')]", is: '[1, "a"]', cost: 0 },
  { why: "a dynamic element beside another", expr: "[1, dyn('a')]", refused: "8: expected type 'int' but found 'dyn'" },
  {
    why: "lists of different elements",
    expr: "[[1], ['a']]",
    refused: "7: expected type 'list(int)' but found 'list(string)'",
  },
  { why: "empty lists fit", expr: "[[1], []]", is: "[[1], []]", cost: 0 },
  {
    why: "maps of different values",
    expr: "[{'a': 1}, {'a': 'b'}]",
    refused: "12: expected type 'map(string, int)' but found 'map(string, string)'",
  },
  { why: "an optional element counts with its value", expr: "[1, ?optional.of(2)]", is: "[1, 2]", cost: 11 },
  {
    why: "an optional element of another type",
    expr: "[1, ?optional.of('a')]",
    refused: "17: expected type 'int' but found 'string'",
  },
]);

testAnswers([
  { why: "keys of different types", expr: "{'a': 1, 2: 1}", refused: "10: expected type 'string' but found 'int'" },
  {
    why: "values of different types",
    expr: "{'a': 1, 'b': 'c'}",
    refused: "15: expected type 'int' but found 'string'",
  },
  {
    why: "both",
    expr: "{'a': 1, 2: 'c'}",
    refused: ["10: expected type 'string' but found 'int'", "13: expected type 'int' but found 'string'"],
  },
  {
    why: "each entry is reported",
    expr: "{'a': 1, 'b': 'c', 'd': 2.0}",
    refused: ["15: expected type 'int' but found 'string'", "25: expected type 'int' but found 'double'"],
  },
  {
    why: "an optional value counts with its value",
    expr: "{'a': 1, ?'b': optional.of(2)}",
    is: '{"a": 1, "b": 2}',
    cost: 31,
  },
]);

testAnswers([
  {
    why: "lists in the arguments of format may be mixed",
    expr: "'%s %s'.format([[1, 'a'], {'a': 1, 2: 'b'}])",
    is: '"[1, \\"a\\"] {\\"a\\":1, 2:\\"b\\"}"',
    cost: 1,
  },
  {
    why: "a list beside format may not",
    expr: "'%s'.format([1]) == 'a' || [1, 'a'].size() > 0",
    refused: "32: expected type 'int' but found 'string'",
  },
  {
    why: "a wrong type of an argument",
    expr: "'%d'.format(['a'])",
    refused: "14: error during formatting: decimal clause can only be used on integers, was given string",
  },
  {
    why: "the second argument",
    expr: "'%d %f'.format([1, 2])",
    refused: "20: error during formatting: fixed-point clause can only be used on doubles, was given int",
  },
  {
    why: "a part of an argument",
    expr: "'%s'.format([[1, optional.none()]])",
    refused:
      "31: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type",
  },
  {
    why: "a key of an argument",
    expr: "'%s'.format([{optional.none(): 1}])",
    refused:
      "28: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type",
  },
  {
    why: "a dynamic argument fits",
    expr: "'%d'.format([dyn('a')])",
    is: "ERR error during formatting: decimal clause can only be used on integers, was given string",
    cost: 1,
  },
  {
    why: "too many arguments",
    expr: "'%s'.format([1, 2])",
    refused: "12: too many arguments supplied to string.format (expected 1, got 2)",
  },
  { why: "too few arguments", expr: "'%s %s'.format([1])", refused: "15: index 1 out of range" },
  {
    why: "a template that is not a literal is not looked at",
    expr: "('%' + 'd').format(['a'])",
    is: "ERR error during formatting: decimal clause can only be used on integers, was given string",
    cost: 2,
  },
  {
    why: "arguments that are not a literal list are not looked at",
    expr: "'%d'.format(['a'] + [])",
    is: "ERR error during formatting: decimal clause can only be used on integers, was given string",
    cost: 2,
  },
  {
    why: "a percent sign takes no argument",
    expr: "'%%'.format([1])",
    refused: "12: too many arguments supplied to string.format (expected 0, got 1)",
  },
  {
    why: "an int is not taken by a clause for doubles",
    expr: "'%f'.format([1])",
    refused: "14: error during formatting: fixed-point clause can only be used on doubles, was given int",
  },
  { why: "a bool is taken by the binary clause", expr: "'%b'.format([true])", is: '"1"', cost: 1 },
  {
    why: "a bool is not taken by the octal clause",
    expr: "'%o'.format([true])",
    refused: "14: error during formatting: octal clause can only be used on integers, was given bool",
  },
  { why: "bytes are taken by the hexadecimal clause", expr: "'%X'.format([b'a'])", is: '"61"', cost: 1 },
  {
    why: "a double is not",
    expr: "'%x'.format([1.0])",
    refused:
      "14: error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given double",
  },
  { why: "a type is taken by the string clause", expr: "'%s'.format([int])", is: '"int"', cost: 1 },
  {
    why: "an address is not",
    expr: "'%s'.format([ip('::1')])",
    refused:
      "16: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given net.IP",
  },
]);
