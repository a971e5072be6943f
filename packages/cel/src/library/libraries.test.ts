// SPDX-License-Identifier: Apache-2.0

import { type Subject, testAnswers } from "../../test/answers.ts";

const subject: Subject = {
  schema: {
    type: "object",
    properties: {
      s: { type: "string", maxLength: 10 },
      t: { type: "string" },
      l: { type: "array", maxItems: 5, items: { type: "string", maxLength: 3 } },
      i: { type: "array", maxItems: 4, items: { type: "integer" } },
      m: { type: "object", maxProperties: 3, additionalProperties: { type: "string", maxLength: 2 } },
      n: { type: "integer" },
      b: { type: "string", format: "byte", maxLength: 8 },
    },
  },
  self: { s: "http://a/b", t: "x", l: ["a", "b"], i: [1, 2], m: { k: "v" }, n: 2, b: "aGk=" },
};

testAnswers([
  { why: "a string in code points", expr: "'a\\u00e9\\U0001F600'.size()", is: "3", cost: 1 },
  { why: "bytes", expr: "size(b'\\xff\\x00')", is: "2", cost: 1 },
  { why: "a list", expr: "[1, 2].size()", is: "2", cost: 1 },
  { why: "a map", expr: "size({'a': 1})", is: "1", cost: 1 },
  { why: "a number has no size", expr: "size(dyn(1))", is: "ERR no such overload: size", cost: 1 },
  { why: "null has no size", expr: "size(dyn(null))", is: "ERR no such overload: size", cost: 1 },
  { why: "a duration has no size", expr: "dyn(duration('1s')).size()", is: "ERR no such overload", cost: 1 },
]);

testAnswers([
  {
    why: "a part",
    expr: "['abc'.contains('b'), 'abc'.contains('z'), 'abc'.contains('')]",
    is: "[true, false, true]",
    cost: 12,
  },
  {
    why: "a start",
    expr: "['abc'.startsWith('ab'), 'abc'.startsWith('b'), 'abc'.startsWith('')]",
    is: "[true, false, true]",
    cost: 13,
  },
  {
    why: "an end",
    expr: "['abc'.endsWith('bc'), 'abc'.endsWith('b'), 'abc'.endsWith('')]",
    is: "[true, false, true]",
    cost: 13,
  },
  { why: "a part that is not a string", expr: "'abc'.contains(dyn(1))", is: "ERR no such overload", cost: 1 },
  { why: "a text that is not a string", expr: "dyn(1).startsWith('a')", is: "ERR no such overload", cost: 1 },
  {
    why: "the cost of a part is that of text times part",
    expr: "'aaaaaaaaaaaaaaaaaaaaaaaaa'.contains('aaaaaaaaaaaaaaaaaaaaa')",
    is: "true",
    cost: 9,
  },
]);

testAnswers([
  { why: "a list contains the elements of another", expr: "sets.contains([1, 2, 3], [2, 1])", is: "true", cost: 7 },
  { why: "any order, any number", expr: "sets.contains([1], [1, 1, 1])", is: "true", cost: 4 },
  { why: "an element is missing", expr: "sets.contains([1, 2], [3])", is: "false", cost: 3 },
  { why: "every list contains the empty one", expr: "sets.contains([], [])", is: "true", cost: 1 },
  { why: "numbers of different types", expr: "sets.contains([dyn(1)], [dyn(1.0)])", is: "true", cost: 2 },
  { why: "lists as elements", expr: "sets.contains([[1], [2]], [[2]])", is: "true", cost: 3 },
  { why: "equal sets", expr: "sets.equivalent([1, 2], [2, 1, 1])", is: "true", cost: 13 },
  { why: "sets of which one has more", expr: "sets.equivalent([1, 2], [1])", is: "false", cost: 5 },
  { why: "empty sets are equal", expr: "sets.equivalent([], [])", is: "true", cost: 1 },
  { why: "sets with a common element", expr: "sets.intersects([1, 2], [2, 3])", is: "true", cost: 5 },
  { why: "sets without one", expr: "sets.intersects([1], [2])", is: "false", cost: 2 },
  { why: "the empty set has none", expr: "sets.intersects([], [1])", is: "false", cost: 1 },
  {
    why: "a value that is not a list",
    expr: "sets.contains(dyn(1), [1])",
    is: "ERR no such overload: sets.contains(int, list)",
    cost: 2,
  },
]);

testAnswers([
  { why: "entries of a map", expr: "{'a': 1, 'b': 2}.transformMap(k, v, v * 2)", is: '{"a": 2, "b": 4}', cost: 11 },
  { why: "a filter before", expr: "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, k + 'x')", is: '{"b": "bx"}', cost: 10 },
  { why: "a list becomes a map by index", expr: "['a', 'b'].transformMap(i, v, v)", is: '{0: "a", 1: "b"}', cost: 9 },
  { why: "entries of one's own", expr: "['a', 'b'].transformMapEntry(i, v, {v: i})", is: '{"a": 0, "b": 1}', cost: 69 },
  { why: "no entry", expr: "['a', 'b'].transformMapEntry(i, v, v == 'a', {v: i})", is: '{"a": 0}', cost: 39 },
  {
    why: "a key twice",
    expr: "['a', 'a'].transformMapEntry(i, v, {v: i})",
    is: "ERR insert failed: key a already exists",
    cost: 69,
  },
  { why: "several entries", expr: "[1].transformMapEntry(i, v, {'a': i, 'b': v})", is: '{"a": 0, "b": 1}', cost: 35 },
  {
    why: "an entry that is not a map",
    expr: "[1].transformMapEntry(i, v, dyn(v))",
    is: "ERR no such overload: cel.@mapInsert(map, int)",
    cost: 5,
  },
  { why: "a list from a map", expr: "{'a': 1}.transformList(k, v, k + string(v))", is: '["a1"]', cost: 17 },
  { why: "a list with a filter", expr: "[1, 2, 3].transformList(i, v, i > 0, v * 10)", is: "[20, 30]", cost: 35 },
  {
    why: "the function cannot be called by name",
    expr: "cel.@mapInsert({}, {})",
    is: "COMPILE ERROR: <input>:1:5: Syntax error: token recognition error at: '@'\n | cel.@mapInsert({}, {})\n | ....^",
  },
]);

testAnswers(
  [
    { why: "the size of a string", expr: "self.s.size() > 1", is: "true", cost: 4, min: 4n, max: 4n },
    { why: "a part of a string", expr: "self.s.contains(self.t)", is: "false", cost: 5, min: 4n, max: 1258296n },
    { why: "a start of a string", expr: "self.s.startsWith('ab')", is: "false", cost: 3, min: 3n, max: 3n },
    { why: "an end of a string", expr: "self.s.endsWith(self.s)", is: "true", cost: 5, min: 4n, max: 8n },
    { why: "sets", expr: "sets.contains(self.i, [1, 2])", is: "true", cost: 7, min: 13n, max: 21n },
    { why: "equal sets", expr: "sets.equivalent(self.i, self.i)", is: "true", cost: 13, min: 5n, max: 37n },
    { why: "common elements", expr: "sets.intersects(self.l, ['a'])", is: "true", cost: 5, min: 13n, max: 18n },
    {
      why: "a map made of a list",
      expr: "self.l.transformMap(i, v, v).size() > 9",
      is: "false",
      cost: 13,
      min: 35n,
      max: 55n,
    },
    {
      why: "a map made of a map",
      expr: "self.m.transformMap(k, v, v + v).all(k, k == 'k')",
      is: "true",
      cost: 15,
      min: 34n,
      max: 67n,
    },
  ],
  subject,
);

testAnswers(
  [
    { why: "two strings joined", expr: "self.s + self.s == 'a'", is: "false", cost: 7, min: 5n, max: 13n },
    { why: "bytes joined", expr: "self.b + self.b == b'a'", is: "false", cost: 6, min: 5n, max: 7n },
    { why: "lists joined", expr: "(self.i + self.i).all(e, e > 0)", is: "true", cost: 26, min: 6n, max: 46n },
    { why: "a string compared", expr: "self.s < 'b'", is: "false", cost: 3, min: 3n, max: 3n },
    { why: "bytes compared", expr: "self.b <= b'a'", is: "false", cost: 3, min: 3n, max: 3n },
    { why: "a string not equal", expr: "self.s != self.t", is: "true", cost: 5, min: 5n, max: 8n },
    { why: "an element of a list", expr: "1 in self.i", is: "true", cost: 4, min: 2n, max: 6n },
    { why: "an element of a literal list", expr: "self.n in [1, 2, 3]", is: "true", cost: 2, min: 15n, max: 15n },
    { why: "a key of a map", expr: "'k' in self.m", is: "true", cost: 3, min: 3n, max: 3n },
    { why: "a value of a map", expr: "self.m['k'] == 'v'", is: "true", cost: 4, min: 4n, max: 4n },
    { why: "an element by its index", expr: "self.l[0] == 'a'", is: "true", cost: 4, min: 4n, max: 4n },
    {
      why: "a condition takes the more expensive side",
      expr: "(self.n > 1 ? self.s : self.t).contains('a')",
      is: "true",
      cost: 5,
      min: 5n,
      max: 314578n,
    },
    {
      why: "a disjunction may end early",
      expr: "self.n == 2 || self.t.contains('abc')",
      is: "true",
      cost: 3,
      min: 2n,
      max: 314577n,
    },
    {
      why: "a conjunction may end early",
      expr: "self.n == 2 && self.t.contains('abc')",
      is: "false",
      cost: 6,
      min: 2n,
      max: 314577n,
    },
    { why: "arithmetic", expr: "-self.n + 3 * 4 / 2 % 5 - 1 > 0", is: "false", cost: 9, min: 9n, max: 9n },
    {
      why: "a list literal",
      expr: "[self.s, self.s].all(e, e.contains('abc'))",
      is: "false",
      cost: 22,
      min: 21n,
      max: 23n,
    },
    { why: "a map literal", expr: "{'a': self.s}.all(k, k == 'a')", is: "true", cost: 38, min: 36n, max: 37n },
    {
      why: "a value of a map literal",
      expr: "{'a': self.s}['a'].contains('abc')",
      is: "false",
      cost: 35,
      min: 33n,
      max: 37n,
    },
    {
      why: "a nested comprehension",
      expr: "self.l.all(a, self.l.exists(b, a == b))",
      is: "true",
      cost: 39,
      min: 3n,
      max: 233n,
    },
    {
      why: "a filtered list",
      expr: "self.l.filter(e, e == 'a').size() == 1",
      is: "true",
      cost: 22,
      min: 15n,
      max: 90n,
    },
    {
      why: "a mapped list",
      expr: "self.l.map(e, e + e).all(e, e.contains('abc'))",
      is: "false",
      cost: 41,
      min: 14n,
      max: 119n,
    },
    { why: "exactly one", expr: "self.i.exists_one(e, e == 1)", is: "true", cost: 10, min: 4n, max: 16n },
    { why: "keys of a map", expr: "self.m.all(k, k.startsWith('k'))", is: "true", cost: 8, min: 3n, max: 18n },
    {
      why: "keys and values of a map",
      expr: "self.m.all(k, v, k + v == 'kv')",
      is: "true",
      cost: 10,
      min: 3n,
      max: 24n,
    },
    {
      why: "indices and elements",
      expr: "self.l.exists(i, e, i == 1 && e == 'b')",
      is: "true",
      cost: 17,
      min: 3n,
      max: 43n,
    },
    { why: "presence is free", expr: "has(self.s) && has(self.m.k)", is: "true", cost: 3, min: 1n, max: 3n },
    { why: "dyn keeps the size", expr: "dyn(self.s).contains('abc')", is: "false", cost: 4, min: 3n, max: 7n },
    {
      why: "an optional field",
      expr: "self.?s.orValue('').contains('abc')",
      is: "false",
      cost: 3,
      min: 3n,
      max: 1844674407370955267n,
    },
  ],
  subject,
);
