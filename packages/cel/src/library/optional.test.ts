// SPDX-License-Identifier: Apache-2.0

import { testAnswers } from "../../test/expressions.ts";

testAnswers([
  { why: "an optional of a value", expr: "optional.of(1)", is: "optional(1)", cost: 1 },
  { why: "an optional of null", expr: "optional.of(null)", is: "optional(null)", cost: 1 },
  { why: "an optional of an optional", expr: "optional.of(optional.none())", is: "optional(optional.none)", cost: 2 },
  { why: "no value", expr: "optional.none()", is: "optional.none", cost: 1 },
  { why: "a value that is not zero", expr: "optional.ofNonZeroValue(1)", is: "optional(1)", cost: 1 },
  { why: "zero", expr: "optional.ofNonZeroValue(0)", is: "optional.none", cost: 1 },
  { why: "a zero uint", expr: "optional.ofNonZeroValue(0u)", is: "optional.none", cost: 1 },
  { why: "a zero double", expr: "optional.ofNonZeroValue(0.0)", is: "optional.none", cost: 1 },
  { why: "negative zero", expr: "optional.ofNonZeroValue(-0.0)", is: "optional.none", cost: 1 },
  { why: "an empty string", expr: "optional.ofNonZeroValue('')", is: "optional.none", cost: 1 },
  { why: "a string", expr: "optional.ofNonZeroValue(' ')", is: 'optional(" ")', cost: 1 },
  { why: "false", expr: "optional.ofNonZeroValue(false)", is: "optional.none", cost: 1 },
  { why: "null is zero", expr: "optional.ofNonZeroValue(null)", is: "optional.none", cost: 1 },
  { why: "empty bytes", expr: "optional.ofNonZeroValue(b'')", is: "optional.none", cost: 1 },
  { why: "an empty list", expr: "optional.ofNonZeroValue([])", is: "optional.none", cost: 1 },
  { why: "a list", expr: "optional.ofNonZeroValue([0])", is: "optional([0])", cost: 1 },
  { why: "an empty map", expr: "optional.ofNonZeroValue({})", is: "optional.none", cost: 1 },
  { why: "a duration of zero", expr: "optional.ofNonZeroValue(duration('0s'))", is: "optional.none", cost: 1 },
  {
    why: "a timestamp at the epoch is not zero",
    expr: "optional.ofNonZeroValue(timestamp(0))",
    is: "optional(timestamp 1970-01-01T00:00:00Z)",
    cost: 1,
  },
  { why: "a type is not zero", expr: "optional.ofNonZeroValue(int)", is: "optional(type int)", cost: 1 },
]);

testAnswers([
  { why: "a value", expr: "optional.of(1).value()", is: "1", cost: 2 },
  { why: "a value that is not there", expr: "optional.none().value()", is: "ERR optional.none() dereference", cost: 2 },
  { why: "whether there is a value", expr: "optional.of(1).hasValue()", is: "true", cost: 2 },
  { why: "whether there is none", expr: "optional.none().hasValue()", is: "false", cost: 2 },
  {
    why: "or takes the first that holds a value",
    expr: "optional.none().or(optional.of(2))",
    is: "optional(2)",
    cost: 2,
  },
  {
    why: "or does not evaluate the second without need",
    expr: "optional.of(1).or(optional.of(1 / 0))",
    is: "optional(1)",
    cost: 1,
  },
  { why: "or without any value", expr: "optional.none().or(optional.none())", is: "optional.none", cost: 2 },
  { why: "orValue takes the value", expr: "optional.of(1).orValue(1 / 0)", is: "1", cost: 1 },
  { why: "orValue takes the other", expr: "optional.none().orValue(2)", is: "2", cost: 1 },
  { why: "orValue of an error", expr: "optional.none().orValue(1 / 0)", is: "ERR division by zero", cost: 2 },
  {
    why: "or of another type",
    expr: "optional.of(1).or(optional.of('a'))",
    refused: "18: found no matching overload for 'or' applied to 'optional_type(int).(optional_type(string))'",
  },
  {
    why: "orValue of another type",
    expr: "optional.of(1).orValue('a')",
    refused: "23: found no matching overload for 'orValue' applied to 'optional_type(int).(string)'",
  },
  { why: "orValue on a value that is not an optional", expr: "dyn(5).orValue(6)", is: "5", cost: 0 },
]);

testAnswers([
  { why: "a key that is there", expr: "{'a': 1}.?a", is: "optional(1)", cost: 2 },
  { why: "a key that is not there", expr: "{'a': 1}.?b", is: "optional.none", cost: 1 },
  { why: "a selection continues", expr: "{'a': {'b': 1}}.?a.b", is: "optional(1)", cost: 3 },
  { why: "a selection ends where nothing is", expr: "{'a': {'b': 1}}.?x.b", is: "optional.none", cost: 1 },
  { why: "what is not there inside", expr: "{'a': {'b': 1}}.?a.c", is: "optional.none", cost: 2 },
  { why: "an optional index of a list", expr: "[1, 2][?1]", is: "optional(2)", cost: 2 },
  { why: "an index behind the list", expr: "[1, 2][?2]", is: "optional.none", cost: 1 },
  { why: "a negative index", expr: "[1, 2][?-1]", is: "optional.none", cost: 1 },
  { why: "an optional key of a map", expr: "{'a': 1}[?'a']", is: "optional(1)", cost: 2 },
  { why: "a missing key of a map", expr: "{1: 'a'}[?2]", is: "optional.none", cost: 1 },
  { why: "a key of an optional", expr: "optional.of({'a': 1}).a", is: "optional(1)", cost: 3 },
  { why: "an index of an optional", expr: "optional.of([1])[0]", is: "optional(1)", cost: 3 },
  { why: "an index of an optional behind the list", expr: "optional.of([1])[1]", is: "optional.none", cost: 2 },
  { why: "a key of an optional without value", expr: "optional.none()[0]", is: "optional.none", cost: 2 },
  { why: "an optional index of an optional", expr: "optional.of([1])[?5]", is: "optional.none", cost: 2 },
  { why: "a selection from a number", expr: "dyn(1).?a", is: "optional.none", cost: 1 },
  { why: "has of an optional", expr: "has(optional.of({'a': 1}).a)", is: "true", cost: 2 },
  {
    why: "has of what an optional does not hold",
    expr: "has({'a': 1}.?b.c)",
    refused: "4: type 'int' does not support field selection",
  },
  {
    why: "an optional selection of a type without fields",
    expr: "(1).?a",
    refused: "4: type 'int' does not support field selection",
  },
]);

testAnswers([
  { why: "an optional element that is there", expr: "[?optional.of(1), 2]", is: "[1, 2]", cost: 11 },
  { why: "an optional element that is not", expr: "[?optional.none(), 2]", is: "[2]", cost: 11 },
  {
    why: "an optional element that is not an optional",
    expr: "[?1]",
    refused: "3: expected type 'optional_type(int)' but found 'int'",
  },
  {
    why: "an optional element that turns out not to be",
    expr: "[?dyn(1)]",
    is: "ERR cannot initialize optional list element from non-optional value 1",
  },
  { why: "an optional entry that is there", expr: "{?'a': optional.of(1)}", is: '{"a": 1}', cost: 31 },
  { why: "an optional entry that is not", expr: "{?'a': optional.none()}", is: "{}", cost: 31 },
  {
    why: "an optional entry that is not an optional",
    expr: "{?'a': 1}",
    refused: "8: expected type 'optional_type(int)' but found 'int'",
  },
  {
    why: "an optional entry that turns out not to be",
    expr: "{?'a': dyn(1)}",
    is: "ERR cannot initialize optional entry 'a' from non-optional value 1",
  },
  {
    why: "an entry that is not there deletes one before it",
    expr: "{'a': 1, ?'a': optional.none()}",
    is: "{}",
    cost: 31,
  },
]);

testAnswers([
  { why: "optMap", expr: "optional.of(2).optMap(x, x * 2)", is: "optional(4)", cost: 7 },
  { why: "optMap of nothing", expr: "optional.none().optMap(x, x * 2)", is: "optional.none", cost: 3 },
  { why: "optFlatMap", expr: "optional.of([1]).optFlatMap(x, x[?0])", is: "optional(1)", cost: 6 },
  { why: "optFlatMap to nothing", expr: "optional.of([1]).optFlatMap(x, x[?1])", is: "optional.none", cost: 5 },
  { why: "optFlatMap of nothing", expr: "optional.none().optFlatMap(x, optional.of(x))", is: "optional.none", cost: 3 },
  { why: "optMap with an error", expr: "optional.of(0).optMap(x, 1 / x)", is: "ERR division by zero", cost: 7 },
  {
    why: "optMap of a value that is not an optional",
    expr: "dyn(1).optMap(x, x)",
    is: "ERR no such overload: hasValue(int)",
    cost: 1,
  },
  {
    why: "optMap needs a name",
    expr: "optional.of(1).optMap(x.y, 1)",
    refused: "24: optMap() variable name must be a simple identifier",
  },
  {
    why: "optFlatMap needs a name",
    expr: "optional.of(1).optFlatMap(1, 1)",
    refused: "27: optFlatMap() variable name must be a simple identifier",
  },
  {
    why: "optFlatMap has to give an optional",
    expr: "optional.of(1).optFlatMap(x, x)",
    refused: "26: found no matching overload for '_?_:_' applied to '(bool, int, optional_type(dyn))'",
  },
]);

testAnswers([
  {
    why: "the values of a list of optionals",
    expr: "optional.unwrap([optional.of(1), optional.none(), optional.of(2)])",
    is: "[1, 2]",
    cost: 14,
  },
  { why: "the same as a method", expr: "[optional.none(), optional.of(2)].unwrapOpt()", is: "[2]", cost: 13 },
  {
    why: "an element that is not an optional",
    expr: "[dyn(optional.of(1)), dyn(7)].unwrapOpt()",
    is: "ERR value 7 is not optional",
    cost: 13,
  },
  { why: "no elements", expr: "[].unwrapOpt()", is: "[]", cost: 1 },
]);

testAnswers([
  { why: "optionals of equal values", expr: "optional.of(1) == optional.of(1)", is: "true", cost: 3 },
  { why: "optionals of equal numbers", expr: "optional.of(dyn(1)) == optional.of(dyn(1.0))", is: "true", cost: 3 },
  { why: "optionals of different values", expr: "optional.of(1) == optional.of(2)", is: "false", cost: 3 },
  { why: "nothing equals nothing", expr: "optional.none() == optional.none()", is: "true", cost: 3 },
  { why: "something and nothing", expr: "optional.of(1) == optional.none()", is: "false", cost: 3 },
  { why: "an optional and its value", expr: "dyn(optional.of(1)) == dyn(1)", is: "false", cost: 3 },
  { why: "an optional is not equal", expr: "optional.of(1) != optional.none()", is: "true", cost: 3 },
  { why: "the type of an optional", expr: "type(optional.of(1))", is: "type optional_type", cost: 2 },
  { why: "an optional has no size", expr: "size(dyn(optional.of('a')))", is: "ERR no such overload: size", cost: 3 },
]);
