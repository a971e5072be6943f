// SPDX-License-Identifier: Apache-2.0
// Selecting fields, keys and elements from data and from values that expressions make, with what each selection costs.

import { type Subject, testAnswers } from "../../test/expressions.ts";

const subject: Subject = {
  schema: {
    type: "object",
    properties: {
      a: { type: "string" },
      none: { type: "string" },
      n: { type: "integer" },
      key: { type: "string" },
      o: {
        type: "object",
        properties: { p: { type: "object", properties: { q: { type: "integer" } } }, missing: { type: "string" } },
      },
      m: { type: "object", additionalProperties: { type: "integer" } },
      mo: {
        type: "object",
        additionalProperties: { type: "object", properties: { v: { type: "integer" }, w: { type: "integer" } } },
      },
      l: { type: "array", items: { type: "integer" } },
      lo: { type: "array", items: { type: "object", properties: { v: { type: "integer" }, w: { type: "integer" } } } },
      any: { "x-kubernetes-int-or-string": true },
    },
  },
  self: {
    a: "text",
    n: 1,
    key: "x",
    o: { p: { q: 7 } },
    m: { x: 1, "a.b": 2 },
    mo: { x: { v: 3 } },
    l: [10, 20],
    lo: [{ v: 1 }, { v: 2, w: 5 }],
    any: 5,
  },
};

testAnswers(
  [
    { why: "a field", expr: "self.a", is: '"text"', cost: 2 },
    { why: "each selection costs one", expr: "self.o.p.q", is: "7", cost: 4 },
    { why: "a field that is not there", expr: "self.none", is: "ERR no such key: none", cost: 2 },
    { why: "an error ends the selection", expr: "self.o.missing.size()", is: "ERR no such key: missing", cost: 4 },
    { why: "a key as a field", expr: "self.m.x", is: "1", cost: 3 },
    { why: "a key in brackets", expr: "self.m['a.b']", is: "2", cost: 3 },
    { why: "a key that is not there", expr: "self.m['y']", is: "ERR no such key: y", cost: 3 },
    { why: "a key from the data", expr: "self.m[self.key]", is: "1", cost: 4 },
    { why: "a key that is computed", expr: "self.m['a' + '.b']", is: "2" },
    { why: "a key that fails", expr: "self.m[string(1 / 0)]", is: "ERR division by zero" },
    { why: "an element", expr: "self.l[1]", is: "20", cost: 3 },
    { why: "an index from the data", expr: "self.l[self.n]", is: "20", cost: 4 },
    { why: "an index that is computed", expr: "self.l[self.n - 1]", is: "10" },
    { why: "a field of an element", expr: "self.lo[1].w", is: "5", cost: 4 },
    { why: "a field of the value of a key", expr: "self.mo.x.v", is: "3", cost: 4 },
    { why: "a field of a literal", expr: "{'a': {'b': 1}}.a.b", is: "1" },
    { why: "an element of a literal", expr: "[[1], [2, 3]][1][0]", is: "2" },
    { why: "a field of the result of a call", expr: "self.lo.filter(e, e.v > 1)[0].w", is: "5" },
  ],
  subject,
);

testAnswers([
  { why: "an element by a uint", expr: "[1, 2][dyn(1u)]", is: "2" },
  { why: "an element by a double without a fraction", expr: "[1, 2][dyn(1.0)]", is: "2" },
  { why: "an element by a double with one", expr: "[1, 2][dyn(0.5)]", is: "ERR unsupported index value 0.5 in list" },
  { why: "an index behind the end", expr: "[1, 2][2]", is: "ERR index out of bounds: 2" },
  { why: "an index before the start", expr: "[1, 2][-1]", is: "ERR index out of bounds: -1" },
  { why: "an index beyond 2^53", expr: "[1][9007199254740993]", is: "ERR index out of bounds: 9007199254740993" },
  {
    why: "a key of numbers of all types",
    expr: "[{1: 'a'}[dyn(1u)], {1: 'a'}[dyn(1.0)], {1u: 'b'}[dyn(1)]]",
    is: '["a", "a", "b"]',
  },
  { why: "a key that is a bool", expr: "{true: 1, false: 2}[false]", is: "2" },
  { why: "a key of another type is not there", expr: "{'1': 'a'}[dyn(1)]", is: "ERR no such key: 1" },
  { why: "a field of a string", expr: "dyn('a').b", is: "ERR no such key: b" },
  { why: "a field of null", expr: "dyn(null).b", is: "ERR no such key: b" },
]);

testAnswers(
  [
    { why: "has, of a field that is there", expr: "has(self.a)", is: "true", cost: 1 },
    { why: "has, of a field that is not", expr: "has(self.none)", is: "false", cost: 1 },
    { why: "has, below a field", expr: "has(self.o.p.q)", is: "true", cost: 3 },
    { why: "has, below a field that is not there", expr: "has(self.mo.y.v)", is: "ERR no such key: y", cost: 2 },
    { why: "has, of a key", expr: "[has(self.m.x), has(self.m.y)]", is: "[true, false]" },
    { why: "has, of a field of an element", expr: "self.lo.map(e, has(e.w))", is: "[false, true]" },
    { why: "has, of an element that is not there", expr: "has(self.lo[7].v)", is: "ERR index out of bounds: 7" },
    {
      why: "has, of a literal",
      expr: "[has({'a': 1}.a), has({'a': 1}.b), has({'a': null}.a)]",
      is: "[true, false, true]",
    },
  ],
  subject,
);

testAnswers(
  [
    { why: "an optional field that is there", expr: "self.?a", is: 'optional("text")', cost: 2 },
    { why: "an optional field that is not", expr: "self.?none", is: "optional.none", cost: 1 },
    { why: "selections behind it are optional too", expr: "self.?o.p.q", is: "optional(7)", cost: 4 },
    { why: "and end where nothing is", expr: "self.?o.missing.orValue('none')", is: '"none"' },
    { why: "an optional key", expr: "[self.m[?'x'], self.m[?'y']]", is: "[optional(1), optional.none]" },
    { why: "an optional key from the data", expr: "self.m[?self.key]", is: "optional(1)" },
    {
      why: "an optional element",
      expr: "[self.l[?1], self.l[?2], self.l[?-1]]",
      is: "[optional(20), optional.none, optional.none]",
    },
    {
      why: "a field of an optional element",
      expr: "[self.lo[?1].w, self.lo[?0].w, self.lo[?9].w]",
      is: "[optional(5), optional.none, optional.none]",
    },
    { why: "a field before it has to be there", expr: "self.mo.y.?v", is: "ERR no such key: y" },
    { why: "an optional field of a value that is an optional", expr: "optional.of({'a': 1}).?a", is: "optional(1)" },
    { why: "a field of an optional is optional", expr: "optional.of({'a': 1}).a", is: "optional(1)" },
    { why: "a field of an empty optional is an empty optional", expr: "optional.none().a", is: "optional.none" },
    {
      why: "has, of a field of an optional string",
      expr: "has(self.?none.size)",
      refused: "4: type 'string' does not support field selection",
    },
    { why: "has, of a field of an optional", expr: "[has(self.?o.p), has(self.?o.missing)]", is: "[true, false]" },
  ],
  subject,
);

testAnswers(
  [
    { why: "a condition chooses what is selected from", expr: "(self.n == 1 ? self.lo[0] : self.lo[1]).v", is: "1" },
    { why: "the other branch is not evaluated", expr: "(self.n == 2 ? self.lo[9] : self.lo[1]).v", is: "2" },
    { why: "a condition that fails", expr: "(1 / 0 == 1 ? self.lo[0] : self.lo[1]).v", is: "ERR division by zero" },
    { why: "a condition that is not a bool", expr: "dyn(1) ? 1 : 2", is: "ERR no such overload" },
    { why: "has, of what a condition chooses", expr: "has((self.n == 1 ? self.lo[0] : self.lo[1]).w)", is: "false" },
    { why: "conditions in each other", expr: "(true ? (false ? self.m : self.m) : self.m).x", is: "1" },
  ],
  subject,
);

testAnswers(
  [
    { why: "an int of an int-or-string is not a map", expr: "self.any.a", is: "ERR no such key: a" },
    { why: "an index that is a list", expr: "dyn(self.m)[[1]]", is: "PLAN invalid qualifier type: *types.baseList" },
    { why: "an index that is a map", expr: "dyn(self.m)[{1: 1}]", is: "PLAN invalid qualifier type: *types.baseMap" },
    { why: "an index that is null", expr: "dyn(self.m)[null]", is: "PLAN invalid qualifier type: types.Null" },
    {
      why: "an index that is a duration",
      expr: "dyn(self.m)[duration('1s')]",
      is: "PLAN invalid qualifier type: types.Duration",
    },
  ],
  subject,
);
