// SPDX-License-Identifier: Apache-2.0

import { listSubject as subject, testAnswers } from "../../test/expressions.ts";

testAnswers([
  { why: "ascending", expr: "[1, 2, 2, 3].isSorted()", is: "true", cost: 4 },
  { why: "descending", expr: "[2, 1].isSorted()", is: "false", cost: 2 },
  { why: "no elements", expr: "[].isSorted()", is: "true", cost: 0 },
  { why: "one element", expr: "[1].isSorted()", is: "true", cost: 1 },
  { why: "strings", expr: "['a', 'b'].isSorted()", is: "true", cost: 0 },
  { why: "strings by code point", expr: "['\\uffff', '\\U0001F600'].isSorted()", is: "true", cost: 0 },
  { why: "bools", expr: "[true, false].isSorted()", is: "false", cost: 2 },
  { why: "bytes", expr: "[b'a', b'b'].isSorted()", is: "true", cost: 0 },
  { why: "doubles", expr: "[1.0, 1.5].isSorted()", is: "true", cost: 2 },
  { why: "durations", expr: "[duration('1s'), duration('1ms')].isSorted()", is: "false", cost: 2 },
  {
    why: "timestamps",
    expr: "[timestamp('2020-01-01T00:00:00Z'), timestamp('2020-01-01T00:00:00.1Z')].isSorted()",
    is: "true",
    cost: 2,
  },
  {
    why: "elements without an order",
    expr: "[dyn([1])].isSorted()",
    is: "ERR no such overload: isSorted(list)",
    cost: 1,
  },
  {
    why: "the keys of a map that a dyn turned out to be",
    expr: "dyn({'b': 1}).isSorted()",
    is: "ERR no such overload: isSorted(map)",
    cost: 1,
  },
  {
    why: "a value that cannot be iterated",
    expr: "dyn(1).isSorted()",
    is: "ERR no such overload: isSorted(int)",
    cost: 1,
  },
]);

testAnswers([
  { why: "ints", expr: "[1, 2, 3].sum()", is: "6", cost: 3 },
  { why: "uints", expr: "[1u, 2u].sum()", is: "3u", cost: 2 },
  { why: "doubles", expr: "[1.5, 2.5].sum()", is: "double 4", cost: 2 },
  { why: "durations", expr: "[duration('1m'), duration('1s')].sum()", is: "duration 61000000000", cost: 2 },
  { why: "no elements are zero", expr: "[].sum() == 0", is: "true", cost: 1 },
  { why: "an overflow", expr: "[9223372036854775807, 1].sum()", is: "ERR integer overflow", cost: 2 },
  { why: "a uint overflow", expr: "[18446744073709551615u, 1u].sum()", is: "ERR unsigned integer overflow", cost: 2 },
  { why: "elements of different types", expr: "[dyn(1), dyn(1.5)].sum()", is: "ERR no such overload", cost: 2 },
  {
    why: "strings cannot be added up",
    expr: "['a'].sum()",
    refused: "10: found no matching overload for 'sum' applied to 'list(string).()'",
  },
  { why: "strings at run time", expr: "[dyn('a')].sum()", is: "ERR no such overload: sum(list)", cost: 0 },
]);

testAnswers([
  { why: "the least", expr: "[3, 1, 2].min()", is: "1", cost: 3 },
  { why: "the greatest", expr: "[3, 1, 2].max()", is: "3", cost: 3 },
  { why: "the least string", expr: "['b', 'a'].min()", is: '"a"', cost: 0 },
  { why: "the greatest string", expr: "['b', 'a'].max()", is: '"b"', cost: 0 },
  { why: "the greatest bool", expr: "[false, true].max()", is: "true", cost: 2 },
  { why: "the least duration", expr: "[duration('1h'), duration('1m')].min()", is: "duration 60000000000", cost: 2 },
  {
    why: "the greatest timestamp",
    expr: "[timestamp('2020-01-01T00:00:00Z'), timestamp('2021-01-01T00:00:00Z')].max()",
    is: "timestamp 2021-01-01T00:00:00Z",
    cost: 2,
  },
  { why: "numbers of different types", expr: "[dyn(1), dyn(2.5), dyn(2u)].max()", is: "double 2.5", cost: 3 },
  { why: "the first of equal elements", expr: "[dyn(1.0), dyn(1)].min()", is: "double 1", cost: 2 },
  { why: "no elements have no least", expr: "[].min()", is: "ERR min called on empty list", cost: 0 },
  { why: "no elements have no greatest", expr: "[].max()", is: "ERR max called on empty list", cost: 0 },
  { why: "elements without an order", expr: "[dyn([1])].max()", is: "ERR no such overload: max(list)", cost: 1 },
  {
    why: "the keys of a map that a dyn turned out to be",
    expr: "dyn({'b': 1, 'a': 2}).min()",
    is: "ERR no such overload: min(map)",
    cost: 2,
  },
  { why: "an element that fails", expr: "[1, 1 / 0].max()", is: "ERR division by zero", cost: 12 },
]);

testAnswers([
  { why: "the first occurrence", expr: "[1, 2, 2].indexOf(2)", is: "1", cost: 3 },
  { why: "the last occurrence", expr: "[1, 2, 2].lastIndexOf(2)", is: "2", cost: 3 },
  { why: "no occurrence", expr: "[1].indexOf(3)", is: "-1", cost: 1 },
  { why: "no last occurrence", expr: "[1].lastIndexOf(3)", is: "-1", cost: 1 },
  { why: "a list in a list", expr: "[[1], [2]].indexOf([2])", is: "1", cost: 2 },
  { why: "a number of another type", expr: "[dyn(1), dyn(2)].lastIndexOf(2.0)", is: "1", cost: 2 },
  { why: "no elements", expr: "[].indexOf(1)", is: "-1", cost: 0 },
]);

testAnswers(
  [
    { why: "the sum of bounded ints", expr: "self.i.sum() > 100", is: "false", cost: 6, min: 3n, max: 7n },
    { why: "the sum of an unbounded list", expr: "self.u.sum() > 100", is: "false", cost: 4, min: 3n, max: 1572866n },
    { why: "the greatest text costs the texts", expr: "self.l.max() == 'z'", is: "false", cost: 3, min: 3n, max: 18n },
    { why: "the least", expr: "self.i.min() > 100", is: "false", cost: 6, min: 3n, max: 7n },
    { why: "sorted texts", expr: "self.l.isSorted()", is: "false", cost: 2, min: 2n, max: 17n },
    { why: "an index of a text", expr: "self.l.indexOf('a') > 9", is: "false", cost: 3, min: 3n, max: 18n },
    { why: "an index of an int", expr: "self.i.lastIndexOf(1) > 9", is: "false", cost: 6, min: 3n, max: 7n },
  ],
  subject,
);
