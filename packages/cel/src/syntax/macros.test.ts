// SPDX-License-Identifier: Apache-2.0

import { testAnswers } from "../../test/expressions.ts";

testAnswers([
  { why: "all elements hold", expr: "[1, 2].all(e, e > 0)", is: "true", cost: 11 },
  { why: "one does not", expr: "[1, -1].all(e, e > 0)", is: "false", cost: 11 },
  { why: "no elements", expr: "[].all(e, false)", is: "true", cost: 1 },
  { why: "false ends the evaluation", expr: "[0, 1].all(e, 1 / e > 5)", is: "false", cost: 13 },
  { why: "an error before false is absorbed", expr: "[0, 2].all(e, 1 / e > 5)", is: "false", cost: 13 },
  {
    why: "an error without false is the result",
    expr: "[0, 1].all(e, 1 / e > 0)",
    is: "ERR division by zero",
    cost: 13,
  },
  { why: "the keys of a map", expr: "{'a': 1}.all(k, k == 'a')", is: "true", cost: 6 },
  { why: "index and element", expr: "['a', 'b'].all(i, e, i < 2 && e != 'c')", is: "true", cost: 15 },
  { why: "key and value", expr: "{'a': 1, 'b': 2}.all(k, v, k + string(v) in ['a1', 'b2'])", is: "true", cost: 15 },
]);

testAnswers([
  { why: "one element holds", expr: "[1, -1].exists(e, e < 0)", is: "true", cost: 13 },
  { why: "none does", expr: "[1].exists(e, e < 0)", is: "false", cost: 7 },
  { why: "no elements", expr: "[].exists(e, true)", is: "false", cost: 1 },
  { why: "true ends the evaluation", expr: "[1, 0].exists(e, 1 / e == 1)", is: "true", cost: 11 },
  { why: "an error before true is absorbed", expr: "[0, 1].exists(e, 1 / e == 1)", is: "true", cost: 15 },
  {
    why: "an error without true is the result",
    expr: "[0, 1].exists(e, 1 / e == 5)",
    is: "ERR division by zero",
    cost: 15,
  },
  { why: "index and element", expr: "['a'].exists(i, e, i == 0 && e == 'a')", is: "true", cost: 9 },
]);

testAnswers([
  { why: "exactly one", expr: "[1, 2, 3].exists_one(e, e > 2)", is: "true", cost: 10 },
  { why: "two", expr: "[1, 2, 3].exists_one(e, e > 1)", is: "false", cost: 12 },
  { why: "none", expr: "[1].exists_one(e, e > 1)", is: "false", cost: 4 },
  { why: "an error is not absorbed", expr: "[0, 1].exists_one(e, 1 / e == 1)", is: "ERR division by zero", cost: 10 },
  { why: "two variables", expr: "[1, 2].exists_one(i, e, i == 1)", is: "true", cost: 8 },
  { why: "the other name", expr: "[1, 2].existsOne(i, e, e == 1)", is: "true", cost: 8 },
  {
    why: "the other name has two variables only",
    expr: "[1, 2].existsOne(e, e == 1)",
    refused: [
      "17: undeclared reference to 'existsOne' (in container '')",
      "18: undeclared reference to 'e' (in container '')",
      "21: undeclared reference to 'e' (in container '')",
    ],
  },
]);

testAnswers([
  { why: "a new list", expr: "[1, 2].map(e, e * 2)", is: "[2, 4]", cost: 29 },
  { why: "with a filter", expr: "[1, 2].map(e, e > 1, e * 2)", is: "[4]", cost: 19 },
  { why: "the keys of a map", expr: "{'a': 1}.map(k, k + 'x')", is: '["ax"]', cost: 15 },
  { why: "an error is the result", expr: "[1, 0].map(e, 1 / e)", is: "ERR division by zero", cost: 29 },
  { why: "a filter that fails", expr: "[1, 0].map(e, 1 / e > 0, e)", is: "ERR division by zero", cost: 20 },
  { why: "no elements", expr: "[].map(e, e)", is: "[]", cost: 1 },
  { why: "a list of lists", expr: "[1].map(a, [2].map(b, a + b))", is: "[[3]]", cost: 29 },
]);

testAnswers([
  { why: "elements that hold", expr: "[1, 2, 3].filter(e, e > 1)", is: "[2, 3]", cost: 33 },
  { why: "the keys of a map", expr: "{'a': 1, 'b': 2}.filter(k, k == 'b')", is: '["b"]', cost: 18 },
  { why: "an error is the result", expr: "[1, 0].filter(e, 1 / e > 0)", is: "ERR division by zero", cost: 20 },
]);

testAnswers([
  { why: "index and element", expr: "['a', 'b'].transformList(i, e, string(i) + e)", is: '["0a", "1b"]', cost: 33 },
  { why: "with a filter", expr: "['a', 'b'].transformList(i, e, i > 0, e)", is: '["b"]', cost: 18 },
  { why: "values of a map", expr: "{'a': 1}.transformMap(k, v, v + 1)", is: '{"a": 2}', cost: 6 },
  { why: "values of a list", expr: "['a'].transformMap(i, v, v)", is: '{0: "a"}', cost: 5 },
  { why: "entries", expr: "{'a': 1}.transformMapEntry(k, v, {v: k})", is: '{1: "a"}', cost: 35 },
  { why: "entries with a filter", expr: "{'a': 1}.transformMapEntry(k, v, v > 1, {v: k})", is: "{}", cost: 3 },
]);

testAnswers([
  { why: "a field", expr: "has({'a': 1}.a)", is: "true", cost: 1 },
  { why: "a missing field", expr: "has({'a': 1}.b)", is: "false", cost: 1 },
  { why: "a missing parent", expr: "has({'a': {}}.b.c)", is: "ERR no such key: b", cost: 1 },
  { why: "a name is not a field", expr: "has(a)", refused: "5: invalid argument to has() macro" },
  { why: "an index is not a field", expr: "has({'a': 1}['a'])", refused: "13: invalid argument to has() macro" },
  { why: "a call is not a field", expr: "has(size([1]))", refused: "9: invalid argument to has() macro" },
  { why: "has of has", expr: "has(has({'a': 1}.a).b)", refused: "4: type 'bool' does not support field selection" },
  { why: "two arguments", expr: "has({'a': 1}.a, 1)", refused: "4: undeclared reference to 'has' (in container '')" },
  { why: "no arguments", expr: "has()", refused: "4: undeclared reference to 'has' (in container '')" },
  {
    why: "has as a method is a function",
    expr: "{'a': 1}.has(a)",
    refused: [
      "13: undeclared reference to 'has' (in container '')",
      "14: undeclared reference to 'a' (in container '')",
    ],
  },
]);

testAnswers([
  { why: "a variable must be a name", expr: "[1].all(1, true)", refused: "9: argument must be a simple name" },
  { why: "a selection is not a name", expr: "[1].exists(a.b, true)", refused: "13: argument must be a simple name" },
  { why: "a call is not a name", expr: "[1].exists_one(f(), true)", refused: "17: argument must be a simple name" },
  { why: "a variable of map", expr: "[1].map(a.b, 1)", refused: "10: argument is not an identifier" },
  { why: "a variable of filter", expr: "[1].filter('a', true)", refused: "12: argument is not an identifier" },
  {
    why: "a variable of map with a filter",
    expr: "[1].map(1 + 1, true, 1)",
    refused: "11: argument is not an identifier",
  },
  { why: "the first of two variables", expr: "[1].all(1, e, true)", refused: "9: argument must be a simple name" },
  { why: "the second of two variables", expr: "[1].all(i, 1, true)", refused: "12: argument must be a simple name" },
  { why: "two variables with one name", expr: "[1].all(e, e, true)", refused: "12: duplicate variable name: e" },
  {
    why: "a reserved name",
    expr: "[1].all(__result__, true)",
    refused: "9: iteration variable overwrites accumulator variable",
  },
  {
    why: "the hidden accumulator",
    expr: "[1].all(e, __result__)",
    refused: "12: undeclared reference to '__result__' (in container '')",
  },
  { why: "a name with a leading point", expr: "[1].all(.e, true)", is: "true", cost: 4 },
  {
    why: "a method with another number of arguments is a function",
    expr: "[1].all(e)",
    refused: ["8: undeclared reference to 'all' (in container '')", "9: undeclared reference to 'e' (in container '')"],
  },
  {
    why: "four arguments are too many",
    expr: "[1].all(a, b, c, d)",
    refused: [
      "8: undeclared reference to 'all' (in container '')",
      "9: undeclared reference to 'a' (in container '')",
      "12: undeclared reference to 'b' (in container '')",
      "15: undeclared reference to 'c' (in container '')",
      "18: undeclared reference to 'd' (in container '')",
    ],
  },
  {
    why: "transformList with two arguments",
    expr: "[1].transformList(i, i)",
    refused: [
      "18: undeclared reference to 'transformList' (in container '')",
      "19: undeclared reference to 'i' (in container '')",
      "22: undeclared reference to 'i' (in container '')",
    ],
  },
  {
    why: "optMap needs a name",
    expr: "optional.of(1).optMap(1, 2)",
    refused: "23: optMap() variable name must be a simple identifier",
  },
  { why: "sortBy needs a name", expr: "[1].sortBy(1, 2)", refused: "12: argument is not an identifier" },
  {
    why: "cel.bind does not exist in rules",
    expr: "cel.bind(a, 1, a)",
    refused: [
      "1: undeclared reference to 'cel' (in container '')",
      "9: undeclared reference to 'bind' (in container '')",
      "10: undeclared reference to 'a' (in container '')",
      "16: undeclared reference to 'a' (in container '')",
    ],
  },
]);

testAnswers([
  { why: "a variable shadows one outside", expr: "[1, 2].map(e, [3].map(e, e)[0] + e)", is: "[4, 5]", cost: 61 },
  { why: "variables of both loops", expr: "[1, 2].all(a, [1, 2].exists(b, a == b))", is: "true", cost: 33 },
  {
    why: "a list made in a loop does not change afterwards",
    expr: "[1, 2].map(e, [e]).map(l, l + [0])",
    is: "[[1, 0], [2, 0]]",
    cost: 76,
  },
  {
    why: "an accumulator inside an accumulator",
    expr: "[[1, 2], [3]].map(l, l.filter(e, e > 1))",
    is: "[[2], [3]]",
    cost: 61,
  },
  { why: "a comprehension in a range", expr: "[1, 2, 3].filter(e, e > 1).map(e, e * 2)", is: "[4, 6]", cost: 62 },
  { why: "an empty list in a loop is not the one that grows", expr: "[1, 2].map(e, []).size()", is: "2", cost: 6 },
  {
    why: "a list that is the result is not changed by a second loop",
    expr: "[1].map(a, [2].map(b, [])) == [[[]]]",
    is: "true",
    cost: 17,
  },
  { why: "a variable named like a type", expr: "[1].map(int, int + 1)", is: "[2]", cost: 15 },
  { why: "a variable named like a function", expr: "[1].map(size, size + 1)", is: "[2]", cost: 15 },
]);
