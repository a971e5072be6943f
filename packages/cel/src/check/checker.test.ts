// SPDX-License-Identifier: Apache-2.0

import { type Subject, testAnswers } from "../../test/answers.ts";

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
    {
      why: "an unknown variable",
      expr: "nope",
      is: "COMPILE ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope\n | ^",
    },
    {
      why: "an unknown function",
      expr: "nope(1)",
      is: "COMPILE ERROR: <input>:1:5: undeclared reference to 'nope' (in container '')\n | nope(1)\n | ....^",
    },
    {
      why: "an unknown method",
      expr: "self.s.nope()",
      is: "COMPILE ERROR: <input>:1:12: undeclared reference to 'nope' (in container '')\n | self.s.nope()\n | ...........^",
    },
    {
      why: "an unknown field",
      expr: "self.o.nope",
      is: "COMPILE ERROR: <input>:1:7: undefined field 'nope'\n | self.o.nope\n | ......^",
    },
    {
      why: "an unknown field of an unknown field is reported once",
      expr: "self.nope.a.b",
      is: "COMPILE ERROR: <input>:1:5: undefined field 'nope'\n | self.nope.a.b\n | ....^",
    },
    {
      why: "a field of a number",
      expr: "self.i.a",
      is: "COMPILE ERROR: <input>:1:7: type 'int' does not support field selection\n | self.i.a\n | ......^",
    },
    {
      why: "a field of a list",
      expr: "self.l.a",
      is: "COMPILE ERROR: <input>:1:7: type 'list(int)' does not support field selection\n | self.l.a\n | ......^",
    },
    { why: "a name with a leading point", expr: ".self.i", is: "1", cost: 2 },
    {
      why: "an unknown name with a leading point",
      expr: ".nope",
      is: "COMPILE ERROR: <input>:1:2: undeclared reference to '.nope' (in container '')\n | .nope\n | .^",
    },
    { why: "a function with a leading point", expr: ".size(self.s)", is: "1", cost: 3 },
    {
      why: "several errors are reported in their order",
      expr: "[nope1, self.i + self.s, nope2]",
      is: "COMPILE ERROR: <input>:1:2: undeclared reference to 'nope1' (in container '')\n | [nope1, self.i + self.s, nope2]\n | .^\nERROR: <input>:1:16: found no matching overload for '_+_' applied to '(int, string)'\n | [nope1, self.i + self.s, nope2]\n | ...............^\nERROR: <input>:1:26: undeclared reference to 'nope2' (in container '')\n | [nope1, self.i + self.s, nope2]\n | .........................^",
    },
    {
      why: "a function of a namespace that does not exist",
      expr: "nope.f(1)",
      is: "COMPILE ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope.f(1)\n | ^\nERROR: <input>:1:7: undeclared reference to 'f' (in container '')\n | nope.f(1)\n | ......^",
    },
    {
      why: "a function of a namespace",
      expr: "sets.nope([1], [1])",
      is: "COMPILE ERROR: <input>:1:1: undeclared reference to 'sets' (in container '')\n | sets.nope([1], [1])\n | ^\nERROR: <input>:1:10: undeclared reference to 'nope' (in container '')\n | sets.nope([1], [1])\n | .........^",
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
      is: "COMPILE ERROR: <input>:1:8: found no matching overload for '_+_' applied to '(int, string)'\n | self.i + self.s\n | .......^",
    },
    {
      why: "no operator for three types",
      expr: "self.s - 1 - 'a'",
      is: "COMPILE ERROR: <input>:1:8: found no matching overload for '_-_' applied to '(string, int)'\n | self.s - 1 - 'a'\n | .......^\nERROR: <input>:1:12: found no matching overload for '_-_' applied to '(!error!, string)'\n | self.s - 1 - 'a'\n | ...........^",
    },
    {
      why: "a function with too many arguments",
      expr: "size(self.s, 1)",
      is: "COMPILE ERROR: <input>:1:5: found no matching overload for 'size' applied to '(string, int)'\n | size(self.s, 1)\n | ....^",
    },
    {
      why: "a method with a wrong argument",
      expr: "self.s.contains(1)",
      is: "COMPILE ERROR: <input>:1:16: found no matching overload for 'contains' applied to 'string.(int)'\n | self.s.contains(1)\n | ...............^",
    },
    {
      why: "a function called as a method",
      expr: "self.s.type()",
      is: "COMPILE ERROR: <input>:1:12: found no matching overload for 'type' applied to 'string.()'\n | self.s.type()\n | ...........^",
    },
    {
      why: "a method called as a function",
      expr: "startsWith(self.s, 'a')",
      is: "COMPILE ERROR: <input>:1:11: found no matching overload for 'startsWith' applied to '(string, string)'\n | startsWith(self.s, 'a')\n | ..........^",
    },
    {
      why: "a negation of a string",
      expr: "!self.s",
      is: "COMPILE ERROR: <input>:1:1: found no matching overload for '!_' applied to '(string)'\n | !self.s\n | ^",
    },
    {
      why: "a negative string",
      expr: "-self.s",
      is: "COMPILE ERROR: <input>:1:1: found no matching overload for '-_' applied to '(string)'\n | -self.s\n | ^",
    },
    {
      why: "a condition that is not a bool",
      expr: "self.i ? 1 : 2",
      is: "COMPILE ERROR: <input>:1:8: found no matching overload for '_?_:_' applied to '(int, int, int)'\n | self.i ? 1 : 2\n | .......^",
    },
    {
      why: "sides of a condition that differ",
      expr: "true ? self.i : self.s",
      is: "COMPILE ERROR: <input>:1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'\n | true ? self.i : self.s\n | .....^",
    },
    {
      why: "conjunctions say which side is wrong",
      expr: "self.i && true",
      is: "COMPILE ERROR: <input>:1:5: expected type 'bool' but found 'int'\n | self.i && true\n | ....^",
    },
    {
      why: "both sides can be wrong",
      expr: "self.i || self.s",
      is: "COMPILE ERROR: <input>:1:5: expected type 'bool' but found 'int'\n | self.i || self.s\n | ....^\nERROR: <input>:1:15: expected type 'bool' but found 'string'\n | self.i || self.s\n | ..............^",
    },
    { why: "a dynamic argument fits", expr: "self.x + 1", is: "2", cost: 3 },
    { why: "a dynamic result is a dyn", expr: "[self.x][0]", is: "1", cost: 14 },
    {
      why: "an index of a list by a string",
      expr: "self.l['a']",
      is: "COMPILE ERROR: <input>:1:7: found no matching overload for '_[_]' applied to '(list(int), string)'\n | self.l['a']\n | ......^",
    },
    {
      why: "an index of a map by an int",
      expr: "self.m[1]",
      is: "COMPILE ERROR: <input>:1:7: found no matching overload for '_[_]' applied to '(map(string, string), int)'\n | self.m[1]\n | ......^",
    },
    {
      why: "an index of an int",
      expr: "self.i[0]",
      is: "COMPILE ERROR: <input>:1:7: found no matching overload for '_[_]' applied to '(int, int)'\n | self.i[0]\n | ......^",
    },
    {
      why: "an element of another type",
      expr: "'a' in self.l",
      is: "COMPILE ERROR: <input>:1:5: found no matching overload for '@in' applied to '(string, list(int))'\n | 'a' in self.l\n | ....^",
    },
    {
      why: "a key of another type",
      expr: "1 in self.m",
      is: "COMPILE ERROR: <input>:1:3: found no matching overload for '@in' applied to '(int, map(string, string))'\n | 1 in self.m\n | ..^",
    },
    {
      why: "equality of different types",
      expr: "self.i == self.s",
      is: "COMPILE ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, string)'\n | self.i == self.s\n | .......^",
    },
    {
      why: "equality of lists of different types",
      expr: "self.l == ['a']",
      is: "COMPILE ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(list(int), list(string))'\n | self.l == ['a']\n | .......^",
    },
    {
      why: "equality of an int and null",
      expr: "self.i == null",
      is: "COMPILE ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, null)'\n | self.i == null\n | .......^",
    },
    { why: "equality of an object and null", expr: "self.o == null", is: "false", cost: 3 },
    { why: "equality of a duration and null", expr: "duration('1s') == null", is: "false", cost: 1 },
    {
      why: "equality of a list and null",
      expr: "self.l == null",
      is: "COMPILE ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(list(int), null)'\n | self.l == null\n | .......^",
    },
    {
      why: "an int and a uint are not equal",
      expr: "self.i == 1u",
      is: "COMPILE ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, uint)'\n | self.i == 1u\n | .......^",
    },
    { why: "an int and a double are ordered", expr: "self.i < 1.5", is: "true", cost: 3 },
    {
      why: "a bool and an int are not",
      expr: "true < self.i",
      is: "COMPILE ERROR: <input>:1:6: found no matching overload for '_<_' applied to '(bool, int)'\n | true < self.i\n | .....^",
    },
  ],
  subject,
);

testAnswers(
  [
    { why: "a list of one type", expr: "[1, 2]", is: "[1, 2]", cost: 0 },
    {
      why: "a list of different types",
      expr: "[dyn(1), 'a']",
      is: "COMPILE ERROR: <input>:1:10: expected type 'dyn' but found 'string'\n | [dyn(1), 'a']\n | .........^",
    },
    {
      why: "a literal list of different types",
      expr: "[1, 'a']",
      is: "COMPILE ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, 'a']\n | ....^",
    },
    { why: "lists in a list", expr: "[[1], []]", is: "[[1], []]", cost: 0 },
    {
      why: "lists of different types in a list",
      expr: "[[1], ['a']]",
      is: "COMPILE ERROR: <input>:1:7: expected type 'list(int)' but found 'list(string)'\n | [[1], ['a']]\n | ......^",
    },
    { why: "a map", expr: "{'a': 1}", is: '{"a": 1}', cost: 0 },
    {
      why: "a map with values of different types",
      expr: "{'a': 1, 'b': 'c'}",
      is: "COMPILE ERROR: <input>:1:15: expected type 'int' but found 'string'\n | {'a': 1, 'b': 'c'}\n | ..............^",
    },
    {
      why: "a map with keys of different types",
      expr: "{'a': 1, 2: 3}",
      is: "COMPILE ERROR: <input>:1:10: expected type 'string' but found 'int'\n | {'a': 1, 2: 3}\n | .........^",
    },
    { why: "an empty list takes the type of the other", expr: "[] + [1]", is: "[1]", cost: 1 },
    { why: "an empty map", expr: "{}", is: "{}", cost: 0 },
    {
      why: "null and a duration",
      expr: "[duration('1s'), null]",
      is: "COMPILE ERROR: <input>:1:18: expected type 'duration' but found 'null'\n | [duration('1s'), null]\n | .................^",
    },
    {
      why: "an int and null",
      expr: "[1, null]",
      is: "COMPILE ERROR: <input>:1:5: expected type 'int' but found 'null'\n | [1, null]\n | ....^",
    },
    { why: "a field of an object", expr: "[self.o.a]", is: '["b"]', cost: 13 },
    {
      why: "a presence test is a bool",
      expr: "has(self.o.a) + 1",
      is: "COMPILE ERROR: <input>:1:15: found no matching overload for '_+_' applied to '(bool, int)'\n | has(self.o.a) + 1\n | ..............^",
    },
    {
      why: "an optional element needs an optional",
      expr: "[?self.i]",
      is: "COMPILE ERROR: <input>:1:7: expected type 'optional_type(int)' but found 'int'\n | [?self.i]\n | ......^",
    },
    {
      why: "an optional entry needs an optional",
      expr: "{?'a': self.i}",
      is: "COMPILE ERROR: <input>:1:12: expected type 'optional_type(int)' but found 'int'\n | {?'a': self.i}\n | ...........^",
    },
    { why: "an optional field", expr: "self.?s", is: 'optional("a")', cost: 2 },
    {
      why: "an optional field of an unknown field",
      expr: "self.?nope",
      is: "COMPILE ERROR: <input>:1:5: undefined field 'nope'\n | self.?nope\n | ....^",
    },
    {
      why: "the value of an optional has its type",
      expr: "self.?s.orValue(1)",
      is: "COMPILE ERROR: <input>:1:16: found no matching overload for 'orValue' applied to 'optional_type(string).(int)'\n | self.?s.orValue(1)\n | ...............^",
    },
    {
      why: "an optional and a value",
      expr: "optional.of(1) == 1",
      is: "COMPILE ERROR: <input>:1:16: found no matching overload for '_==_' applied to '(optional_type(int), int)'\n | optional.of(1) == 1\n | ...............^",
    },
  ],
  subject,
);

testAnswers(
  [
    {
      why: "a range that is not a list or map",
      expr: "self.i.all(e, true)",
      is: "COMPILE ERROR: <input>:1:5: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)\n | self.i.all(e, true)\n | ....^",
    },
    {
      why: "a range of a string",
      expr: "self.s.exists(e, true)",
      is: "COMPILE ERROR: <input>:1:5: expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)\n | self.s.exists(e, true)\n | ....^",
    },
    {
      why: "a predicate that is not a bool",
      expr: "self.l.all(e, e)",
      is: "COMPILE ERROR: <input>:1:15: expected type 'bool' but found 'int'\n | self.l.all(e, e)\n | ..............^",
    },
    {
      why: "a predicate of a filter that is not a bool",
      expr: "self.l.filter(e, e + 1)",
      is: "COMPILE ERROR: <input>:1:14: found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'\n | self.l.filter(e, e + 1)\n | .............^",
    },
    {
      why: "the variable has the type of the elements",
      expr: "self.l.all(e, e == 'a')",
      is: "COMPILE ERROR: <input>:1:17: found no matching overload for '_==_' applied to '(int, string)'\n | self.l.all(e, e == 'a')\n | ................^",
    },
    {
      why: "the variable of a map is the key",
      expr: "self.m.all(k, k == 1)",
      is: "COMPILE ERROR: <input>:1:17: found no matching overload for '_==_' applied to '(string, int)'\n | self.m.all(k, k == 1)\n | ................^",
    },
    {
      why: "two variables of a map",
      expr: "self.m.all(k, v, k == 1 && v == 1)",
      is: "COMPILE ERROR: <input>:1:20: found no matching overload for '_==_' applied to '(string, int)'\n | self.m.all(k, v, k == 1 && v == 1)\n | ...................^\nERROR: <input>:1:30: found no matching overload for '_==_' applied to '(string, int)'\n | self.m.all(k, v, k == 1 && v == 1)\n | .............................^",
    },
    {
      why: "two variables of a list",
      expr: "self.l.all(i, e, i == 'a' && e == 'b')",
      is: "COMPILE ERROR: <input>:1:20: found no matching overload for '_==_' applied to '(int, string)'\n | self.l.all(i, e, i == 'a' && e == 'b')\n | ...................^\nERROR: <input>:1:32: found no matching overload for '_==_' applied to '(int, string)'\n | self.l.all(i, e, i == 'a' && e == 'b')\n | ...............................^",
    },
    {
      why: "the variable is unknown outside",
      expr: "self.l.all(e, true) && e",
      is: "COMPILE ERROR: <input>:1:24: undeclared reference to 'e' (in container '')\n | self.l.all(e, true) && e\n | .......................^",
    },
    { why: "a variable hides another", expr: "self.l.all(self, self > 0)", is: "true", cost: 8 },
    { why: "inner variables hide outer ones", expr: "[[1]].all(e, e.all(e, e == 1))", is: "true", cost: 11 },
    {
      why: "a mapped list has the type of its elements",
      expr: "self.l.map(e, string(e)) == [1]",
      is: "COMPILE ERROR: <input>:1:26: found no matching overload for '_==_' applied to '(list(string), list(int))'\n | self.l.map(e, string(e)) == [1]\n | .........................^",
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
      is: "COMPILE ERROR: <input>:1:11: found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'\n | self.l.map(e, e, e)\n | ..........^",
    },
    {
      why: "entries that are not maps",
      expr: "self.l.transformMapEntry(i, e, e)",
      is: "COMPILE ERROR: <input>:1:25: found no matching overload for 'cel.@mapInsert' applied to '(map(dyn, dyn), int)'\n | self.l.transformMapEntry(i, e, e)\n | ........................^",
    },
  ],
  subject,
);

testAnswers(
  [
    {
      why: "a struct that does not exist",
      expr: "Nope{a: 1}",
      is: "COMPILE ERROR: <input>:1:5: undeclared reference to 'Nope' (in container '')\n | Nope{a: 1}\n | ....^",
    },
    {
      why: "a type that is not a message",
      expr: "int{a: 1}",
      is: "COMPILE ERROR: <input>:1:4: 'int' is not a message type\n | int{a: 1}\n | ...^\nERROR: <input>:1:6: undefined field 'a'\n | int{a: 1}\n | .....^",
    },
    {
      why: "a variable that is not a type",
      expr: "self{a: 1}",
      is: "COMPILE ERROR: <input>:1:5: 'selfType1' is not a type\n | self{a: 1}\n | ....^\nERROR: <input>:1:7: unexpected failed resolution of 'self'\n | self{a: 1}\n | ......^",
    },
    {
      why: "a struct without fields",
      expr: "Nope{}",
      is: "COMPILE ERROR: <input>:1:5: undeclared reference to 'Nope' (in container '')\n | Nope{}\n | ....^",
    },
  ],
  subject,
);
