// SPDX-License-Identifier: Apache-2.0
// The least and the most that an expression can cost over data of a schema, from CEL's model of costs: 1 for a variable, a
// selection and most calls, 10 for a list, 30 for a map, a tenth of a unit for each byte of a string that is read, and the
// cost of a loop once for each element that the schema allows.

import { type Subject, testAnswers } from "../../test/expressions.ts";

const subject: Subject = {
  schema: {
    type: "object",
    properties: {
      n: { type: "integer" },
      s: { type: "string", maxLength: 10 },
      t: { type: "string" },
      l: { type: "array", maxItems: 5, items: { type: "string", maxLength: 3 } },
      i: { type: "array", maxItems: 4, items: { type: "integer" } },
      u: { type: "array", items: { type: "integer" } },
      ll: { type: "array", maxItems: 3, items: { type: "array", maxItems: 2, items: { type: "integer" } } },
      m: { type: "object", maxProperties: 3, additionalProperties: { type: "string", maxLength: 2 } },
      o: {
        type: "array",
        maxItems: 2,
        items: { type: "object", properties: { s: { type: "string", maxLength: 10 } } },
      },
    },
  },
  self: { n: 1, s: "abc", t: "x", l: ["a"], i: [1], u: [1], ll: [[1]], m: { k: "v" }, o: [{ s: "x" }] },
};

testAnswers(
  [
    { why: "a literal is free", expr: "1", min: 0n, max: 0n },
    { why: "a variable", expr: "self", min: 1n, max: 1n },
    { why: "a selection", expr: "self.n", min: 2n, max: 2n },
    { why: "a test for a field costs what is before the field", expr: "has(self.n)", min: 1n, max: 1n },
    { why: "a list", expr: "[1, 2, 3]", min: 10n, max: 10n },
    { why: "a list and its elements", expr: "[self.n, self.n]", min: 14n, max: 14n },
    { why: "a map", expr: "{'a': 1}", min: 30n, max: 30n },
    { why: "a map, its keys and its values", expr: "{self.s: self.n}", min: 34n, max: 34n },
    { why: "a list in a list", expr: "[[1], [2]]", min: 30n, max: 30n },
    { why: "an index", expr: "self.i[0]", min: 3n, max: 3n },
    { why: "a key", expr: "self.m['k']", min: 3n, max: 3n },
    { why: "a key as a selection", expr: "self.m.k", min: 3n, max: 3n },
    { why: "dyn", expr: "dyn(self.n)", min: 3n, max: 3n },
    { why: "a comparison of numbers has no size", expr: "self.n == 1", min: 2n, max: 2n },
    { why: "the size of a string", expr: "self.s.size()", min: 3n, max: 3n },
  ],
  subject,
);

testAnswers(
  [
    { why: "the right side of && may not run", expr: "self.n == 1 && self.n == 2", min: 2n, max: 4n },
    { why: "the right side of || may not run", expr: "self.n == 1 || self.n == 2", min: 2n, max: 4n },
    { why: "a literal on the left", expr: "true && self.n == 1", min: 0n, max: 2n },
    { why: "three parts", expr: "self.n == 1 && self.n == 2 && self.n == 3", min: 2n, max: 6n },
    { why: "one branch of a condition runs", expr: "self.n == 1 ? self.n : 0", min: 2n, max: 4n },
    { why: "the branch may be the cheap one on either side", expr: "self.n == 1 ? 0 : self.n", min: 2n, max: 4n },
    { why: "a condition in a condition", expr: "true ? (false ? [1] : [self.n]) : [0]", min: 10n, max: 12n },
  ],
  subject,
);

testAnswers(
  [
    { why: "strings are compared up to the end of the shorter", expr: "self.s == 'abc'", min: 3n, max: 3n },
    { why: "characters have up to four bytes", expr: "self.s == self.s", min: 5n, max: 8n },
    {
      why: "a string without a limit is as long as a request",
      expr: "self.t == self.t",
      min: 5n,
      max: 4n + 314_573n,
    },
    { why: "both strings of a sum are copied", expr: "self.s + 'a'", min: 3n, max: 7n },
    {
      why: "a search reads the text for each part of what is looked for",
      expr: "self.s.contains('ab')",
      min: 2n,
      max: 6n,
    },
    { why: "a start is read once", expr: "self.s.startsWith('ab')", min: 3n, max: 3n },
    { why: "a pattern for each part of the text", expr: "self.s.matches('a+')", min: 3n, max: 7n },
    { why: "an element of a list is as long as its schema lets it be", expr: "self.l[0] == 'a'", min: 4n, max: 4n },
    {
      why: "a value of a map is as long as its schema lets it be",
      expr: "self.m['k'] + self.m['k']",
      min: 6n,
      max: 8n,
    },
    {
      why: "a value of a map that is selected by name has no limit",
      expr: "self.m.k + self.m.k",
      min: 6n,
      max: 6n + 1_844_674_407_370_955_264n,
    },
    { why: "a field of an element", expr: "self.o[0].s + ''", min: 4n, max: 8n },
  ],
  subject,
);

testAnswers(
  [
    {
      why: "all: for each element the test whether to continue, the result so far, and the condition",
      expr: "self.l.all(x, x == 'a')",
      min: 3n,
      max: 3n + 5n * 5n,
    },
    { why: "exists: one more for the negation", expr: "self.l.exists(x, x == 'a')", min: 3n, max: 3n + 5n * 6n },
    { why: "exists_one: a counter", expr: "self.l.exists_one(x, x == 'a')", min: 4n, max: 4n + 5n * 4n },
    { why: "map: a list for each element", expr: "self.l.map(x, x)", min: 13n, max: 13n + 5n * 13n },
    {
      why: "filter: a list for each element that is kept",
      expr: "self.l.filter(x, true)",
      min: 13n,
      max: 13n + 5n * 13n,
    },
    { why: "keys of a map have no size", expr: "self.m.all(k, k == 'a')", min: 3n, max: 3n + 3n * 4n },
    {
      why: "a list without a limit has as many elements as a request",
      expr: "self.u.all(x, true)",
      min: 3n,
      max: 3n + 1_572_863n * 3n,
    },
    {
      why: "loops in loops are multiplied",
      expr: "self.l.all(x, self.l.all(y, x == y))",
      min: 3n,
      max: 3n + 5n * (3n + 3n + 5n * 7n),
    },
    {
      why: "the list of an element has its own limit",
      expr: "self.ll.all(x, x.all(y, y > 0))",
      min: 3n,
      max: 3n + 3n * (3n + 2n + 2n * 5n),
    },
    { why: "a variable hides one of the same name", expr: "self.i.all(self, self > 0)", min: 3n, max: 3n + 4n * 5n },
    { why: "an index and an element", expr: "self.l.all(i, x, x == 'a')", min: 3n, max: 3n + 5n * 5n },
    { why: "a key and a value", expr: "self.m.all(k, v, v == k)", min: 3n, max: 3n + 3n * 5n },
    { why: "a start for each element", expr: "self.l.exists(x, x.startsWith('ab'))", min: 3n, max: 3n + 5n * 6n },
  ],
  subject,
);

testAnswers(
  [
    { why: "a list that is written has the elements it has", expr: "[1, 2, 3].all(x, true)", min: 20n, max: 20n },
    { why: "an empty list has none", expr: "[].all(x, true)", min: 11n, max: 11n },
    { why: "a map that is written", expr: "{'a': 1}.all(k, true)", min: 34n, max: 34n },
    {
      why: "a sum of lists has the elements of both",
      expr: "(self.l + self.l).all(x, true)",
      min: 6n,
      max: 6n + 10n * 3n,
    },
    {
      why: "a condition has the elements of the longer branch",
      expr: "(self.n == 1 ? self.l : ['z']).all(x, true)",
      min: 5n,
      max: 13n + 5n * 3n,
    },
    {
      why: "a result of filter has at most the elements of its list",
      expr: "self.l.filter(x, true).all(y, true)",
      min: 14n,
      max: 13n + 5n * 13n + 1n + 5n * 3n,
    },
    {
      why: "dyn keeps what is known of the size",
      expr: "dyn(self.l).all(x, true)",
      min: 4n,
      max: 4n + 5n * 3n,
    },
    {
      why: "the elements of a list that no schema describes have no size",
      expr: "['a', 'bcdefghijklmnopqrstuvwxyz'].all(x, x == x)",
      min: 11n + 2n * 3n,
      max: 11n + 2n * 5n,
    },
  ],
  subject,
);

testAnswers(
  [
    { why: "a value that gets a name is not a loop", expr: "[].sortBy(v, v)", min: 44n, max: 44n },
    { why: "an optional that is empty", expr: "optional.none().optMap(v, v)", min: 3n, max: 16n },
    { why: "an optional that has a value", expr: "optional.of(3).optMap(v, v).hasValue()", min: 4n, max: 17n },
    { why: "an optional field", expr: "self.?n.optMap(v, 2)", min: 4n, max: 17n },
    { why: "numbers of a list are looked at once", expr: "self.i.sum()", min: 2n, max: 2n + 4n },
    {
      why: "strings of a list are read, as long as their schema lets them be",
      expr: "self.l.max()",
      min: 2n,
      max: 2n + 5n * (1n + 2n),
    },
    {
      why: "strings of a written list have no limit",
      expr: "[self.t].max()",
      min: 12n + 1n,
      max: 12n + 1n + 1_844_674_407_370_955_264n,
    },
  ],
  subject,
);
