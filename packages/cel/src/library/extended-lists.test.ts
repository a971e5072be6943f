// SPDX-License-Identifier: Apache-2.0

import { listSubject as subject, testAnswers } from "../../test/expressions.ts";

testAnswers([
  { why: "a part of a list", expr: "[1, 2, 3, 4].slice(1, 3)", is: "[2, 3]", cost: 13 },
  { why: "the whole list", expr: "[1, 2].slice(0, 2)", is: "[1, 2]", cost: 13 },
  { why: "an empty part at the end", expr: "[1, 2].slice(2, 2)", is: "[]", cost: 11 },
  {
    why: "an end behind the list",
    expr: "[1, 2].slice(0, 3)",
    is: "ERR cannot slice(0, 3), list is length 2",
    cost: 12,
  },
  {
    why: "a start behind the end",
    expr: "[1, 2].slice(2, 1)",
    is: "ERR cannot slice(2, 1), start index must be less than or equal to end index",
    cost: 12,
  },
  {
    why: "a negative start",
    expr: "[1, 2].slice(-1, 1)",
    is: "ERR cannot slice(-1, 1), negative indexes not supported",
    cost: 12,
  },
  {
    why: "a negative end",
    expr: "[1, 2].slice(0, -1)",
    is: "ERR cannot slice(0, -1), negative indexes not supported",
    cost: 12,
  },
]);

testAnswers([
  {
    why: "one level by default",
    expr: "[[1, [2]], [3]].flatten()",
    refused: ["6: expected type 'int' but found 'list(int)'", "12: expected type 'list(dyn)' but found 'list(int)'"],
  },
  { why: "empty lists vanish", expr: "[[], [1], []].flatten()", is: "[1]", cost: 14 },
  {
    why: "a depth",
    expr: "[[1, [2, [3]]]].flatten(2)",
    refused: ["6: expected type 'int' but found 'list(dyn)'", "10: expected type 'int' but found 'list(int)'"],
  },
  {
    why: "a depth beyond the nesting",
    expr: "[[1, [2]]].flatten(9)",
    refused: "6: expected type 'int' but found 'list(int)'",
  },
  { why: "a depth of 0 changes nothing", expr: "[[1], [2]].flatten(0)", is: "[[1], [2]]", cost: 11 },
  { why: "a negative depth", expr: "[[1]].flatten(-1)", is: "ERR level must be non-negative", cost: 10 },
  { why: "what is not a list stays", expr: "[dyn(1), dyn([2])].flatten(1)", is: "[1, 2]", cost: 13 },
  {
    why: "a value that is not a list at run time",
    expr: "dyn(1).flatten()",
    is: "ERR no such overload: int.flatten()",
    cost: 12,
  },
  {
    why: "a value that is not a list with a depth",
    expr: "dyn(1).flatten(2)",
    is: "ERR no such overload: int.flatten(int)",
    cost: 13,
  },
]);

testAnswers([
  { why: "ints", expr: "[3, 1, 2].sort()", is: "[1, 2, 3]", cost: 29 },
  { why: "negative ints", expr: "[-1, -3, 0].sort()", is: "[-3, -1, 0]", cost: 29 },
  {
    why: "strings by code point",
    expr: "['b', '\\uffff', '\\U0001F600', 'a'].sort()",
    is: '["a", "b", "\uffff", "\u{1f600}"]',
    cost: 44,
  },
  { why: "doubles", expr: "[1.5, -0.5, 1.0].sort()", is: "[double -0.5, double 1, double 1.5]", cost: 29 },
  { why: "uints", expr: "[2u, 1u].sort()", is: "[1u, 2u]", cost: 19 },
  { why: "bools", expr: "[true, false].sort()", is: "[false, true]", cost: 19 },
  { why: "bytes", expr: "[b'b', b'aa', b'a'].sort()", is: "[b61, b6161, b62]", cost: 29 },
  {
    why: "durations",
    expr: "[duration('1h'), duration('1m')].sort()",
    is: "[duration 60000000000, duration 3600000000000]",
    cost: 19,
  },
  {
    why: "timestamps",
    expr: "[timestamp('2021-01-01T00:00:00Z'), timestamp('2020-01-01T00:00:00Z')].sort()",
    is: "[timestamp 2020-01-01T00:00:00Z, timestamp 2021-01-01T00:00:00Z]",
    cost: 19,
  },
  { why: "no elements", expr: "[].sort()", is: "[]", cost: 11 },
  { why: "one element", expr: "['a'].sort()", is: '["a"]', cost: 13 },
  {
    why: "elements of different types",
    expr: "[dyn(1), dyn('a')].sort()",
    is: "ERR list elements must have the same type",
    cost: 1,
  },
  {
    why: "ints and doubles are different types",
    expr: "[dyn(2), dyn(1.0)].sort()",
    is: "ERR list elements must have the same type",
    cost: 1,
  },
  {
    why: "elements without an order",
    expr: "[dyn([1]), dyn([2])].sort()",
    is: "ERR list elements must be comparable",
    cost: 1,
  },
  {
    why: "one element without an order",
    expr: "[dyn({'a': 1})].sort()",
    is: "ERR list elements must be comparable",
    cost: 1,
  },
  { why: "a value that is not a list", expr: "dyn('a').sort()", is: "ERR no such overload", cost: 1 },
  {
    why: "lists of lists are refused by the compiler",
    expr: "[[1]].sort()",
    refused: "11: found no matching overload for 'sort' applied to 'list(list(int)).()'",
  },
]);

testAnswers([
  { why: "by a key", expr: "[{'n': 2}, {'n': 1}].sortBy(e, e.n)", is: '[{"n": 1}, {"n": 2}]', cost: 50 },
  { why: "by a computed key", expr: "['ccc', 'a', 'bb'].sortBy(e, size(e))", is: '["a", "bb", "ccc"]', cost: 74 },
  {
    why: "elements with equal keys keep their order",
    expr: "['b1', 'a1', 'a0'].sortBy(e, e.substring(0, 1))",
    is: '["a1", "a0", "b1"]',
    cost: 74,
  },
  { why: "descending by a negative key", expr: "[1, 3, 2].sortBy(e, -e)", is: "[3, 2, 1]", cost: 74 },
  { why: "no elements", expr: "[].sortBy(e, e)", is: "[]", cost: 14 },
  {
    why: "keys of different types",
    expr: "[dyn(1), dyn('a')].sortBy(e, e)",
    is: "ERR list elements must have the same type",
    cost: 30,
  },
  {
    why: "a key that fails",
    expr: "[1, 0].sortBy(e, 1 / e)",
    is: "ERR internal error: interface conversion: *types.Err is not traits.Lister: missing method Add",
    cost: 31,
  },
  {
    why: "keys without an order",
    expr: "[1, 2].sortBy(e, dyn([e]))",
    is: "ERR list elements must be comparable",
    cost: 52,
  },
  { why: "a list that is computed", expr: "[1, 2, 3].filter(e, e > 1).sortBy(e, -e)", is: "[3, 2]", cost: 83 },
  {
    why: "a literal is not sorted",
    expr: "'abc'.sortBy(e, e)",
    refused: "1: sortBy can only be applied to a list, identifier, comprehension, call or select expression",
  },
  { why: "a variable must be a name", expr: "[1].sortBy(e.f, e)", refused: "13: argument is not an identifier" },
]);

testAnswers([
  { why: "from 0 up to a number", expr: "lists.range(4)", is: "[0, 1, 2, 3]", cost: 15 },
  { why: "nothing up to 0", expr: "lists.range(0)", is: "[]", cost: 11 },
  { why: "nothing up to a negative number", expr: "lists.range(-2)", is: "[]", cost: 11 },
  { why: "the cost is that of the elements", expr: "lists.range(100).size()", is: "100", cost: 112 },
  {
    why: "more than the limit of the cost",
    expr: "lists.range(1000000).size()",
    is: "ERR operation cancelled: actual cost limit exceeded",
    cost: 1000011,
  },
  {
    why: "more than any limit",
    expr: "lists.range(9223372036854775807).size()",
    is: "ERR operation cancelled: actual cost limit exceeded",
  },
]);

testAnswers([
  {
    why: "the elements from the end",
    expr: "[1, 'a', null].reverse()",
    refused: "5: expected type 'int' but found 'string'",
  },
  { why: "no elements", expr: "[].reverse()", is: "[]", cost: 11 },
  { why: "a list that is put together", expr: "([1, 2] + [3]).reverse()", is: "[3, 2, 1]", cost: 15 },
]);

testAnswers([
  { why: "the first of equal elements stays", expr: "[2, 1, 2, 3, 1].distinct()", is: "[2, 1, 3]", cost: 61 },
  {
    why: "numbers of different types are equal",
    expr: "[dyn(1), 1.0, 1u, 2].distinct()",
    refused: "10: expected type 'dyn' but found 'double'",
  },
  { why: "lists and maps are compared", expr: "[[1], [1], [2]].distinct()", is: "[[1], [2]]", cost: 29 },
  { why: "maps are compared", expr: "[{'a': 1}, {'a': 1}].distinct()", is: '[{"a": 1}]', cost: 19 },
  { why: "NaN is not equal to itself", expr: "[0.0 / 0.0, 0.0 / 0.0].distinct().size()", is: "2", cost: 32 },
  { why: "no elements", expr: "[].distinct()", is: "[]", cost: 11 },
]);

testAnswers([
  { why: "the first element", expr: "[1, 2].first()", is: "optional(1)", cost: 1 },
  { why: "the last element", expr: "[1, 2].last()", is: "optional(2)", cost: 1 },
  { why: "no first element", expr: "[].first()", is: "optional.none", cost: 1 },
  { why: "no last element", expr: "[].last()", is: "optional.none", cost: 1 },
]);

testAnswers(
  [
    {
      why: "a slice with literal ends is as long as they say",
      expr: "self.i.slice(1, 3).exists(e, e > 9)",
      is: "false",
      cost: 28,
      min: 24n,
      max: 28n,
    },
    {
      why: "a slice with ends of the object is as long as the list",
      expr: "self.i.slice(0, self.n).exists(e, e > 9)",
      is: "false",
      cost: 30,
      min: 36n,
      max: 44n,
    },
    {
      why: "a slice whose literal ends are the wrong way round",
      expr: "self.i.slice(3, 1).size() == 0",
      is: "ERR cannot slice(3, 1), start index must be less than or equal to end index",
      cost: 16,
      min: 18446744073709551615n,
      max: 18446744073709551615n,
    },
    {
      why: "a slice with negative ends",
      expr: "self.i.slice(-1, -1).size() == 0",
      is: "ERR cannot slice(-1, -1), negative indexes not supported",
      cost: 16,
      min: 15n,
      max: 15n,
    },
    {
      why: "a reversed list is as long as the list",
      expr: "self.i.reverse().exists(e, e > 9)",
      is: "false",
      cost: 35,
      min: 14n,
      max: 42n,
    },
    {
      why: "a reversed unbounded list",
      expr: "self.u.reverse().exists(e, e > 9)",
      is: "false",
      cost: 21,
      min: 14n,
      max: 11010055n,
    },
    {
      why: "sorting compares all with all",
      expr: "self.i.sort().exists(e, e > 9)",
      is: "false",
      cost: 50,
      min: 14n,
      max: 142n,
    },
    {
      why: "sorting text costs more",
      expr: "self.l.sort().exists(e, e == 'z')",
      is: "false",
      cost: 34,
      min: 14n,
      max: 192n,
    },
    {
      why: "sorting by a key",
      expr: "self.l.sortBy(e, size(e)).exists(e, e == 'z')",
      is: "false",
      cost: 65,
      min: 37n,
      max: 282n,
    },
    {
      why: "sorting by a text",
      expr: "self.i.sortBy(e, string(e)).exists(e, e > 9)",
      is: "false",
      cost: 95,
      min: 37n,
      max: 223n,
    },
    {
      why: "distinct elements",
      expr: "self.i.distinct().exists(e, e > 9)",
      is: "false",
      cost: 50,
      min: 14n,
      max: 142n,
    },
    {
      why: "distinct texts",
      expr: "self.l.distinct().exists(e, e == 'z')",
      is: "false",
      cost: 34,
      min: 14n,
      max: 189n,
    },
    {
      why: "one level of a list of lists",
      expr: "self.ll.flatten().exists(e, e > 9)",
      is: "false",
      cost: 34,
      min: 14n,
      max: 35n,
    },
    { why: "two levels", expr: "self.ll.flatten(2).size() > 0", is: "true", cost: 19, min: 15n, max: 21n },
    {
      why: "a depth of the object",
      expr: "self.ll.flatten(self.n).size() > 0",
      is: "true",
      cost: 21,
      min: 17n,
      max: 18446744073709551615n,
    },
    { why: "a literal range", expr: "lists.range(3).exists(e, e > 9)", is: "false", cost: 33, min: 27n, max: 33n },
    {
      why: "a range of the object",
      expr: "lists.range(self.n).exists(e, e > 9)",
      is: "false",
      cost: 28,
      min: 18446744073709551615n,
      max: 18446744073709551615n,
    },
    { why: "a negative range", expr: "lists.range(-3).exists(e, e > 9)", is: "false", cost: 12, min: 12n, max: 12n },
  ],
  subject,
);
