// SPDX-License-Identifier: Apache-2.0

import { type Subject, testAnswers } from "../../test/expressions.ts";

const subject: Subject = {
  schema: {
    type: "object",
    properties: {
      i: { type: "integer" },
      s: { type: "string" },
      l: { type: "array", items: { type: "integer" } },
      m: { type: "object", additionalProperties: { type: "string" } },
      o: { type: "object", properties: { a: { type: "string" } } },
      x: { "x-kubernetes-int-or-string": true },
    },
  },
  self: { i: 1, s: "a", l: [1], m: { k: "v" }, o: { a: "b" }, x: 1 },
};

testAnswers(
  [
    { why: "an unknown variable", expr: "nope", refused: "1: undeclared reference to 'nope' (in container '')" },
    { why: "an unknown function", expr: "nope(1)", refused: "5: undeclared reference to 'nope' (in container '')" },
    {
      why: "an unknown method",
      expr: "self.s.nope()",
      refused: "12: undeclared reference to 'nope' (in container '')",
    },
    { why: "an unknown field", expr: "self.o.nope", refused: "7: undefined field 'nope'" },
    {
      why: "an unknown field of an unknown field is reported once",
      expr: "self.nope.a.b",
      refused: "5: undefined field 'nope'",
    },
    { why: "a field of a number", expr: "self.i.a", refused: "7: type 'int' does not support field selection" },
    { why: "a field of a list", expr: "self.l.a", refused: "7: type 'list(int)' does not support field selection" },
    { why: "a name with a leading point", expr: ".self.i", is: "1", cost: 2 },
    {
      why: "an unknown name with a leading point",
      expr: ".nope",
      refused: "2: undeclared reference to '.nope' (in container '')",
    },
    { why: "a function with a leading point", expr: ".size(self.s)", is: "1", cost: 3 },
    {
      why: "several errors are reported in their order",
      expr: "[nope1, self.i + self.s, nope2]",
      refused: [
        "2: undeclared reference to 'nope1' (in container '')",
        "16: found no matching overload for '_+_' applied to '(int, string)'",
        "26: undeclared reference to 'nope2' (in container '')",
      ],
    },
    {
      why: "a function of a namespace that does not exist",
      expr: "nope.f(1)",
      refused: [
        "1: undeclared reference to 'nope' (in container '')",
        "7: undeclared reference to 'f' (in container '')",
      ],
    },
    {
      why: "a function of a namespace",
      expr: "sets.nope([1], [1])",
      refused: [
        "1: undeclared reference to 'sets' (in container '')",
        "10: undeclared reference to 'nope' (in container '')",
      ],
    },
    { why: "a type as a value", expr: "int == type(self.i)", is: "true", cost: 4 },
    {
      why: "the short name of a duration is not a type at run time",
      expr: "type(duration('1s')) == duration",
      is: "PLAN reference to undefined type: duration",
    },
  ],
  subject,
);

testAnswers(
  [
    {
      why: "no operator for these types",
      expr: "self.i + self.s",
      refused: "8: found no matching overload for '_+_' applied to '(int, string)'",
    },
    {
      why: "no operator for three types",
      expr: "self.s - 1 - 'a'",
      refused: [
        "8: found no matching overload for '_-_' applied to '(string, int)'",
        "12: found no matching overload for '_-_' applied to '(!error!, string)'",
      ],
    },
    {
      why: "a function with too many arguments",
      expr: "size(self.s, 1)",
      refused: "5: found no matching overload for 'size' applied to '(string, int)'",
    },
    {
      why: "a method with a wrong argument",
      expr: "self.s.contains(1)",
      refused: "16: found no matching overload for 'contains' applied to 'string.(int)'",
    },
    {
      why: "a function called as a method",
      expr: "self.s.type()",
      refused: "12: found no matching overload for 'type' applied to 'string.()'",
    },
    {
      why: "a method called as a function",
      expr: "startsWith(self.s, 'a')",
      refused: "11: found no matching overload for 'startsWith' applied to '(string, string)'",
    },
    {
      why: "a negation of a string",
      expr: "!self.s",
      refused: "1: found no matching overload for '!_' applied to '(string)'",
    },
    {
      why: "a negative string",
      expr: "-self.s",
      refused: "1: found no matching overload for '-_' applied to '(string)'",
    },
    {
      why: "a condition that is not a bool",
      expr: "self.i ? 1 : 2",
      refused: "8: found no matching overload for '_?_:_' applied to '(int, int, int)'",
    },
    {
      why: "sides of a condition that differ",
      expr: "true ? self.i : self.s",
      refused: "6: found no matching overload for '_?_:_' applied to '(bool, int, string)'",
    },
    {
      why: "conjunctions say which side is wrong",
      expr: "self.i && true",
      refused: "5: expected type 'bool' but found 'int'",
    },
    {
      why: "both sides can be wrong",
      expr: "self.i || self.s",
      refused: ["5: expected type 'bool' but found 'int'", "15: expected type 'bool' but found 'string'"],
    },
    { why: "a dynamic argument fits", expr: "self.x + 1", is: "2", cost: 3 },
    { why: "a dynamic result is a dyn", expr: "[self.x][0]", is: "1", cost: 14 },
    {
      why: "an index of a list by a string",
      expr: "self.l['a']",
      refused: "7: found no matching overload for '_[_]' applied to '(list(int), string)'",
    },
    {
      why: "an index of a map by an int",
      expr: "self.m[1]",
      refused: "7: found no matching overload for '_[_]' applied to '(map(string, string), int)'",
    },
    {
      why: "an index of an int",
      expr: "self.i[0]",
      refused: "7: found no matching overload for '_[_]' applied to '(int, int)'",
    },
    {
      why: "an element of another type",
      expr: "'a' in self.l",
      refused: "5: found no matching overload for '@in' applied to '(string, list(int))'",
    },
    {
      why: "a key of another type",
      expr: "1 in self.m",
      refused: "3: found no matching overload for '@in' applied to '(int, map(string, string))'",
    },
    {
      why: "equality of different types",
      expr: "self.i == self.s",
      refused: "8: found no matching overload for '_==_' applied to '(int, string)'",
    },
    {
      why: "equality of lists of different types",
      expr: "self.l == ['a']",
      refused: "8: found no matching overload for '_==_' applied to '(list(int), list(string))'",
    },
    {
      why: "equality of an int and null",
      expr: "self.i == null",
      refused: "8: found no matching overload for '_==_' applied to '(int, null)'",
    },
    { why: "equality of an object and null", expr: "self.o == null", is: "false", cost: 3 },
    { why: "equality of a duration and null", expr: "duration('1s') == null", is: "false", cost: 1 },
    {
      why: "equality of a list and null",
      expr: "self.l == null",
      refused: "8: found no matching overload for '_==_' applied to '(list(int), null)'",
    },
    {
      why: "an int and a uint are not equal",
      expr: "self.i == 1u",
      refused: "8: found no matching overload for '_==_' applied to '(int, uint)'",
    },
    { why: "an int and a double are ordered", expr: "self.i < 1.5", is: "true", cost: 3 },
    {
      why: "a bool and an int are not",
      expr: "true < self.i",
      refused: "6: found no matching overload for '_<_' applied to '(bool, int)'",
    },
  ],
  subject,
);

testAnswers(
  [
    { why: "a list of one type", expr: "[1, 2]", is: "[1, 2]", cost: 0 },
    { why: "a list of different types", expr: "[dyn(1), 'a']", refused: "10: expected type 'dyn' but found 'string'" },
    {
      why: "a literal list of different types",
      expr: "[1, 'a']",
      refused: "5: expected type 'int' but found 'string'",
    },
    { why: "lists in a list", expr: "[[1], []]", is: "[[1], []]", cost: 0 },
    {
      why: "lists of different types in a list",
      expr: "[[1], ['a']]",
      refused: "7: expected type 'list(int)' but found 'list(string)'",
    },
    { why: "a map", expr: "{'a': 1}", is: '{"a": 1}', cost: 0 },
    {
      why: "a map with values of different types",
      expr: "{'a': 1, 'b': 'c'}",
      refused: "15: expected type 'int' but found 'string'",
    },
    {
      why: "a map with keys of different types",
      expr: "{'a': 1, 2: 3}",
      refused: "10: expected type 'string' but found 'int'",
    },
    { why: "an empty list takes the type of the other", expr: "[] + [1]", is: "[1]", cost: 1 },
    { why: "an empty map", expr: "{}", is: "{}", cost: 0 },
    {
      why: "null and a duration",
      expr: "[duration('1s'), null]",
      refused: "18: expected type 'duration' but found 'null'",
    },
    { why: "an int and null", expr: "[1, null]", refused: "5: expected type 'int' but found 'null'" },
    { why: "a field of an object", expr: "[self.o.a]", is: '["b"]', cost: 13 },
    {
      why: "a presence test is a bool",
      expr: "has(self.o.a) + 1",
      refused: "15: found no matching overload for '_+_' applied to '(bool, int)'",
    },
    {
      why: "an optional element needs an optional",
      expr: "[?self.i]",
      refused: "7: expected type 'optional_type(int)' but found 'int'",
    },
    {
      why: "an optional entry needs an optional",
      expr: "{?'a': self.i}",
      refused: "12: expected type 'optional_type(int)' but found 'int'",
    },
    { why: "an optional field", expr: "self.?s", is: 'optional("a")', cost: 2 },
    { why: "an optional field of an unknown field", expr: "self.?nope", refused: "5: undefined field 'nope'" },
    {
      why: "the value of an optional has its type",
      expr: "self.?s.orValue(1)",
      refused: "16: found no matching overload for 'orValue' applied to 'optional_type(string).(int)'",
    },
    {
      why: "an optional and a value",
      expr: "optional.of(1) == 1",
      refused: "16: found no matching overload for '_==_' applied to '(optional_type(int), int)'",
    },
  ],
  subject,
);

testAnswers(
  [
    {
      why: "a range that is not a list or map",
      expr: "self.i.all(e, true)",
      refused: "5: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    },
    {
      why: "a range of a string",
      expr: "self.s.exists(e, true)",
      refused: "5: expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)",
    },
    {
      why: "a predicate that is not a bool",
      expr: "self.l.all(e, e)",
      refused: "15: expected type 'bool' but found 'int'",
    },
    {
      why: "a predicate of a filter that is not a bool",
      expr: "self.l.filter(e, e + 1)",
      refused: "14: found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'",
    },
    {
      why: "the variable has the type of the elements",
      expr: "self.l.all(e, e == 'a')",
      refused: "17: found no matching overload for '_==_' applied to '(int, string)'",
    },
    {
      why: "the variable of a map is the key",
      expr: "self.m.all(k, k == 1)",
      refused: "17: found no matching overload for '_==_' applied to '(string, int)'",
    },
    {
      why: "two variables of a map",
      expr: "self.m.all(k, v, k == 1 && v == 1)",
      refused: [
        "20: found no matching overload for '_==_' applied to '(string, int)'",
        "30: found no matching overload for '_==_' applied to '(string, int)'",
      ],
    },
    {
      why: "two variables of a list",
      expr: "self.l.all(i, e, i == 'a' && e == 'b')",
      refused: [
        "20: found no matching overload for '_==_' applied to '(int, string)'",
        "32: found no matching overload for '_==_' applied to '(int, string)'",
      ],
    },
    {
      why: "the variable is unknown outside",
      expr: "self.l.all(e, true) && e",
      refused: "24: undeclared reference to 'e' (in container '')",
    },
    { why: "a variable hides another", expr: "self.l.all(self, self > 0)", is: "true", cost: 8 },
    { why: "inner variables hide outer ones", expr: "[[1]].all(e, e.all(e, e == 1))", is: "true", cost: 11 },
    {
      why: "a mapped list has the type of its elements",
      expr: "self.l.map(e, string(e)) == [1]",
      refused: "26: found no matching overload for '_==_' applied to '(list(string), list(int))'",
    },
    {
      why: "a dynamic range",
      expr: "self.x.all(e, e == 1 || e == 'a')",
      is: "ERR got 'types.Int', expected iterable type",
      cost: 2,
    },
    {
      why: "a map with a filter that is not a bool",
      expr: "self.l.map(e, e, e)",
      refused: "11: found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'",
    },
    {
      why: "entries that are not maps",
      expr: "self.l.transformMapEntry(i, e, e)",
      refused: "25: found no matching overload for 'cel.@mapInsert' applied to '(map(dyn, dyn), int)'",
    },
  ],
  subject,
);

testAnswers(
  [
    {
      why: "a struct that does not exist",
      expr: "Nope{a: 1}",
      refused: "5: undeclared reference to 'Nope' (in container '')",
    },
    {
      why: "a type that is not a message",
      expr: "int{a: 1}",
      refused: ["4: 'int' is not a message type", "6: undefined field 'a'"],
    },
    {
      why: "a variable that is not a type",
      expr: "self{a: 1}",
      refused: ["5: 'selfType1' is not a type", "7: unexpected failed resolution of 'self'"],
    },
    { why: "a struct without fields", expr: "Nope{}", refused: "5: undeclared reference to 'Nope' (in container '')" },
  ],
  subject,
);
