// SPDX-License-Identifier: Apache-2.0
// Operators that decide what is evaluated, errors as values, and comprehensions (call.ts, collections.ts, planner.ts).

import { testAnswers } from "../../test/expressions.ts";

const fails = "1 / 0 == 1";
const failure = "ERR division by zero";

testAnswers([
  { why: "&& of true and true", expr: "true && true", is: "true", cost: 0 },
  { why: "the right side of && is not evaluated after false", expr: `false && ${fails}`, is: "false", cost: 0 },
  { why: "an error on the left is absorbed by false", expr: `${fails} && false`, is: "false" },
  { why: "an error on the left stays beside true", expr: `${fails} && true`, is: failure },
  { why: "an error on the right stays beside true", expr: `true && ${fails}`, is: failure },
  { why: "the left of two errors", expr: `${fails} && [][0]`, is: failure },
  { why: "the right side of || is not evaluated after true", expr: `true || ${fails}`, is: "true", cost: 0 },
  { why: "an error on the left is absorbed by true", expr: `${fails} || true`, is: "true" },
  { why: "an error on the left stays beside false", expr: `${fails} || false`, is: failure },
  { why: "an error on the right stays beside false", expr: `false || ${fails}`, is: failure },
  { why: "one of many decides", expr: `${fails} || ${fails} || true || ${fails}`, is: "true" },
  { why: "a value that is not a bool", expr: "dyn(1) && true", is: "ERR no such overload" },
  { why: "a value that is not a bool beside false", expr: "dyn(1) && false", is: "false" },
  { why: "a negation", expr: "[!true, !false]", is: "[false, true]" },
  { why: "a negation of an error", expr: `!(${fails})`, is: failure },
  { why: "a negation of a number", expr: "!dyn(1)", is: "ERR no such overload" },
]);

testAnswers([
  { why: "the branch that is not chosen is not evaluated", expr: "true ? 1 : 1 / 0", is: "1", cost: 0 },
  { why: "nor is the other", expr: "false ? 1 / 0 : 2", is: "2", cost: 0 },
  { why: "an error decides nothing", expr: `${fails} ? 1 : 2`, is: failure },
  { why: "an error of the branch", expr: "true ? 1 / 0 : 2", is: failure },
]);

testAnswers([
  { why: "an error in a list", expr: "[1, 1 / 0, 3]", is: failure },
  { why: "an error in a value of a map", expr: "{'a': 1 / 0}", is: failure },
  { why: "an error in a key of a map", expr: "{string(1 / 0): 1}", is: failure },
  { why: "an error in an argument", expr: "'abc'.substring(1 / 0)", is: failure },
  { why: "an error in a target", expr: "string(1 / 0).size()", is: failure },
  { why: "an error is not equal to anything", expr: "1 / 0 == 1 / 0", is: failure },
  { why: "an error is not unequal to anything", expr: "1 / 0 != 1", is: failure },
  { why: "an error is in no list", expr: "1 / 0 in [1]", is: failure },
]);

testAnswers([
  { why: "all", expr: "[[1, 2].all(x, x > 0), [1, -2].all(x, x > 0)]", is: "[true, false]" },
  { why: "all of nothing", expr: "[].all(x, false)", is: "true" },
  {
    why: "all: false absorbs an error, wherever it is",
    expr: "[[0, 1].all(x, 1 / x > 5), [1, 0].all(x, 1 / x > 5)]",
    is: "[false, false]",
  },
  { why: "all: an error stays when nothing is false", expr: "[0, 1].all(x, 1 / x >= 1)", is: failure },
  { why: "all of a condition that is not a bool", expr: "[1].all(x, dyn(x))", is: "ERR no such overload" },
  { why: "exists", expr: "[[1, 2].exists(x, x == 2), [1].exists(x, x == 2)]", is: "[true, false]" },
  { why: "exists in nothing", expr: "[].exists(x, true)", is: "false" },
  {
    why: "exists: true absorbs an error, wherever it is",
    expr: "[[0, 1].exists(x, 1 / x == 1), [1, 0].exists(x, 1 / x == 1)]",
    is: "[true, true]",
  },
  { why: "exists: an error stays when nothing is true", expr: "[0, 2].exists(x, 1 / x == 1)", is: failure },
  {
    why: "exists_one",
    expr: "[[1, 2].exists_one(x, x > 1), [1, 2].exists_one(x, x > 0), [].exists_one(x, true)]",
    is: "[true, false, false]",
  },
  { why: "exists_one absorbs no error", expr: "[0, 1].exists_one(x, 1 / x == 1)", is: failure },
  { why: "map", expr: "[1, 2].map(x, x * 2)", is: "[2, 4]" },
  { why: "map with a condition", expr: "[1, 2, 3].map(x, x > 1, x * 2)", is: "[4, 6]" },
  { why: "map of an error", expr: "[1, 0].map(x, 1 / x)", is: failure },
  { why: "filter", expr: "[1, 2, 3].filter(x, x != 2)", is: "[1, 3]" },
  { why: "filter of an error", expr: "[1, 0].filter(x, 1 / x == 1)", is: failure },
  { why: "keys of a map", expr: "{'a': 1, 'b': 2}.all(k, k in ['a', 'b'])", is: "true" },
  { why: "filter of a map gives keys", expr: "{'a': 1}.filter(k, true)", is: '["a"]' },
  { why: "a variable hides the one outside", expr: "[1].all(x, ['a'].all(x, x == 'a'))", is: "true" },
  { why: "the one outside is back behind it", expr: "[1].all(x, ['a'].all(x, x == 'a') && x == 1)", is: "true" },
  {
    why: "a loop over what is not a list",
    expr: "dyn(1).all(x, true)",
    is: "ERR got 'types.Int', expected iterable type",
  },
  { why: "a loop over null", expr: "dyn(null).exists(x, true)", is: "ERR got 'types.Null', expected iterable type" },
  { why: "a loop over an error", expr: "[1 / 0].all(x, true)", is: failure },
]);

testAnswers([
  {
    why: "an index and a value of a list",
    expr: "['a', 'b'].all(i, v, [i == 0, v == 'a'] in [[true, true], [false, false]])",
    is: "true",
  },
  { why: "a key and a value of a map", expr: "{'a': 1}.exists(k, v, k == 'a' && v == 1)", is: "true" },
  { why: "exactly one pair", expr: "{'a': 1, 'b': 1}.existsOne(k, v, v == 1)", is: "false" },
  { why: "a list of a list", expr: "[1, 2].transformList(i, v, i + v)", is: "[1, 3]" },
  { why: "a list with a condition", expr: "[1, 2].transformList(i, v, i > 0, v)", is: "[2]" },
  { why: "a map of a map", expr: "{'a': 1}.transformMap(k, v, v + 1)", is: '{"a": 2}' },
  {
    why: "a map with a condition",
    expr: "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, k + string(v))",
    is: '{"b": "b2"}',
  },
  { why: "a map of new keys", expr: "{'a': 1}.transformMapEntry(k, v, {k + 'x': v})", is: '{"ax": 1}' },
  {
    why: "a key that comes twice",
    expr: "{'a': 1, 'b': 2}.transformMapEntry(k, v, {'x': v})",
    is: "ERR insert failed: key x already exists",
  },
]);

testAnswers([
  { why: "of entries with the same key the last counts", expr: "{'a': 1, 'a': 2}", is: '{"a": 2}' },
  { why: "keys of numbers that are the same", expr: "{dyn(1): 1, dyn(1u): 2}.size()", is: "2" },
  { why: "an optional entry that is there", expr: "{?'a': optional.of(1), ?'b': optional.none()}", is: '{"a": 1}' },
  { why: "an optional element that is not there", expr: "[1, ?optional.none(), 3]", is: "[1, 3]" },
  {
    why: "an optional element that is not an optional",
    expr: "[?dyn(1)]",
    is: "ERR cannot initialize optional list element from non-optional value 1",
  },
]);
