// SPDX-License-Identifier: Apache-2.0
// Lists and maps of an object, read through their schema (schema-list.ts, schema-map.ts).

import type { Schema } from "@purlin/kube-objects/schema";
import { type Subject, testAnswers } from "../../test/expressions.ts";

const integer: Schema = { type: "integer" };
const pair: Schema = { type: "object", properties: { k: { type: "string" }, v: integer } };
const triple: Schema = { type: "object", properties: { a: { type: "string" }, b: integer, v: integer } };

/** A list of type map when it has keys, otherwise of type set. */
function listOfType({ keys, items }: { readonly keys?: string[]; readonly items: Schema }): Schema {
  const list: Schema = { type: "array", items };
  if (keys === undefined) return { ...list, "x-kubernetes-list-type": "set" };
  return { ...list, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys };
}

const subject: Subject = {
  schema: {
    type: "object",
    properties: {
      l: { type: "array", items: { type: "integer" } },
      l2: { type: "array", items: { type: "integer" } },
      s: listOfType({ items: { type: "string" } }),
      s2: listOfType({ items: { type: "string" } }),
      si: listOfType({ items: { type: "integer" } }),
      sn: listOfType({ items: { type: "number" } }),
      m: listOfType({ keys: ["k"], items: pair }),
      m2: listOfType({ keys: ["k"], items: pair }),
      mm: listOfType({ keys: ["a", "b"], items: triple }),
      mm2: listOfType({ keys: ["a", "b"], items: triple }),
      d: { type: "array", items: { type: "string", format: "date" } },
      w: { type: "array", items: { type: "integer" } },
      e: { type: "array", items: { type: "integer" } },
    },
  },
  self: {
    l: [1, 2, 3],
    l2: [3, 2, 1],
    s: ["a", "b"],
    s2: ["b", "a"],
    si: [1, 2],
    sn: [1, 2.5],
    m: [
      { k: "x", v: 1 },
      { k: "y", v: 2 },
    ],
    m2: [
      { k: "y", v: 2 },
      { k: "x", v: 1 },
    ],
    mm: [
      { a: "x", b: 1, v: 1 },
      { a: "x", b: 2, v: 2 },
    ],
    mm2: [
      { a: "x", b: 2, v: 2 },
      { a: "x", b: 1, v: 1 },
    ],
    d: ["2020-01-01"],
    w: [1, "a", null],
    e: [],
  },
};

const subject1: Subject = {
  schema: {
    type: "object",
    properties: {
      m: { type: "object", additionalProperties: { type: "integer" } },
      n: { type: "object", additionalProperties: { type: "integer" } },
      e: { type: "object", additionalProperties: { type: "integer" } },
      o: { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } } },
      p: { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } } },
      l: { type: "object", additionalProperties: { type: "array", items: { type: "string" } } },
      w: { type: "object", additionalProperties: { type: "integer" } },
      u: { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { a: { type: "integer" } } },
      u2: { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { a: { type: "integer" } } },
    },
  },
  self: {
    m: { a: 1, b: 2 },
    n: { b: 2, a: 1 },
    e: {},
    o: { a: 1 },
    p: { a: 1, b: 2 },
    l: { x: ["1", "2"] },
    w: { a: "x" },
    u: { a: 1, z: { y: [1] } },
    u2: { a: 1, z: { y: [2] } },
  },
};

testAnswers(
  [
    { why: "an element", expr: "self.l[1]", is: "2", cost: 3 },
    { why: "an element behind the list", expr: "self.l[3]", is: "ERR index out of bounds: 3", cost: 3 },
    { why: "an element before the list", expr: "self.l[-1]", is: "ERR index out of bounds: -1", cost: 3 },
    { why: "an index that is not an int", expr: "self.l[dyn(1.0)]", is: "ERR unsupported index: 1", cost: 3 },
    { why: "an index that is a uint", expr: "self.l[dyn(1u)]", is: "ERR unsupported index: 1", cost: 3 },
    {
      why: "elements are equal in order",
      expr: "[self.l == [1, 2, 3], self.l == self.l2, self.l == [1, 2]]",
      is: "[true, false, false]",
      cost: 21,
    },
    { why: "a list and a number", expr: "dyn(self.l) == dyn(1)", is: "ERR no such overload", cost: 4 },
    { why: "a list and an error", expr: "dyn(self.l) == [1 / 0]", is: "ERR division by zero", cost: 15 },
    { why: "a list made by an expression on the left", expr: "[1, 2, 3] == self.l", is: "true", cost: 3 },
    { why: "lists are joined", expr: "self.l + [4]", is: "[1, 2, 3, 4]", cost: 3 },
    { why: "lists are joined on the other side", expr: "[4] + self.l", is: "[4, 1, 2, 3]", cost: 3 },
    { why: "an empty list is joined", expr: "self.e + self.l + []", is: "[1, 2, 3]", cost: 6 },
    {
      why: "elements are read through the schema",
      expr: "self.d[0] == timestamp('2020-01-01T00:00:00Z')",
      is: "true",
      cost: 4,
    },
    {
      why: "what is added is read through the schema",
      expr: "(self.d + ['x']).size()",
      refused: "9: found no matching overload for '_+_' applied to '(list(timestamp), list(string))'",
    },
    {
      why: "what is added to a list of dates fails when it is read",
      expr: "(self.d + ['x'])[1] == timestamp(0)",
      refused: "9: found no matching overload for '_+_' applied to '(list(timestamp), list(string))'",
    },
    {
      why: "a whole double is not an integer",
      expr: "self.l + dyn([1.0])",
      is: "[1, 2, 3, ERR invalid data, expected int, got float64]",
      cost: 3,
    },
    {
      why: "times, durations, bytes and uints do not fit integers",
      expr: "(self.l + dyn([timestamp(0), duration('1s'), b'a', 1u, 1.5, 'a', true]))",
      refused: "38: expected type 'timestamp' but found 'duration'",
    },
    { why: "membership", expr: "[2 in self.l, 9 in self.l, dyn(2.0) in self.l]", is: "[true, false, true]", cost: 25 },
    {
      why: "an element that does not fit",
      expr: "self.w[1]",
      is: "ERR invalid data, expected int, got string",
      cost: 3,
    },
    { why: "membership beside an element that does not fit", expr: "1 in self.w", is: "true", cost: 5 },
    {
      why: "no membership beside an element that does not fit",
      expr: "9 in self.w",
      is: "ERR invalid data, expected int, got string",
      cost: 5,
    },
    {
      why: "equality with an element that does not fit",
      expr: "self.w == [1, 2, 3]",
      is: "ERR invalid data, expected int, got string",
      cost: 3,
    },
    { why: "an element that does not fit is not looked at", expr: "self.w == [2, 2, 2]", is: "false", cost: 3 },
    { why: "the size", expr: "self.w.size()", is: "3", cost: 3 },
    { why: "all elements", expr: "self.l.all(e, e > 0)", is: "true", cost: 18 },
  ],
  subject,
);

testAnswers(
  [
    {
      why: "order does not count",
      expr: "[self.s == self.s2, self.s == ['b', 'a'], ['b', 'a'] == self.s]",
      is: "[true, true, false]",
      cost: 21,
    },
    { why: "other elements", expr: "[self.s == ['a', 'c'], self.s == ['a']]", is: "[false, false]", cost: 16 },
    { why: "adding leaves out what is there", expr: "self.s + ['b', 'c', 'c']", is: '["a", "b", "c"]', cost: 3 },
    { why: "sets are joined", expr: "self.s + self.s2", is: '["a", "b"]', cost: 5 },
    { why: "a set added to a list", expr: "['a'] + self.s", is: '["a", "a", "b"]', cost: 3 },
    { why: "membership", expr: "['a' in self.s, 'z' in self.s]", is: "[true, false]", cost: 18 },
    {
      why: "a set of integers",
      expr: "[self.si == [2, 1], self.si + [2, 3]]",
      refused: "29: expected type 'bool' but found 'list(int)'",
    },
    {
      why: "a whole double is not an integer",
      expr: "self.si + dyn([2.0, 3.5])",
      is: "[1, 2, ERR invalid data, expected int, got float64, ERR invalid data, expected int, got float64]",
      cost: 3,
    },
    {
      why: "a double is added to a set of numbers",
      expr: "self.sn + [2.5, 3.5, 4.0]",
      is: "[double 1, double 2.5, double 3.5, double 4]",
      cost: 3,
    },
    {
      why: "an integer of a set of numbers is not the double",
      expr: "self.sn + [1.0]",
      is: "[double 1, double 2.5, double 1]",
      cost: 3,
    },
    { why: "a list is added to a set of numbers", expr: "(self.sn + [3.5])[2] + 1.0", is: "double 4.5", cost: 6 },
    { why: "a set of numbers", expr: "self.sn == [2.5, 1.0]", is: "false", cost: 3 },
    { why: "a set and a number", expr: "dyn(self.s) == dyn(1)", is: "ERR no such overload", cost: 4 },
    {
      why: "bytes in a set fail",
      expr: "dyn(self.s) == dyn([b'a', b'b'])",
      is: "ERR internal error: runtime error: hash of unhashable type []uint8",
    },
  ],
  subject,
);

testAnswers(
  [
    {
      why: "order does not count",
      expr: "[self.m == self.m2, self.m2 == self.m]",
      refused: [
        "9: found no matching overload for '_==_' applied to '(list(selfType1.m.@idx), list(selfType1.m2.@idx))'",
        "29: found no matching overload for '_==_' applied to '(list(selfType1.m2.@idx), list(selfType1.m.@idx))'",
      ],
    },
    { why: "elements of the same key are compared", expr: "self.m == [self.m[0], self.m[0]]", is: "true", cost: 19 },
    { why: "a list of another size", expr: "self.m == [self.m[0]]", is: "false", cost: 16 },
    {
      why: "adding replaces by key",
      expr: "(self.m + self.m2).map(e, e.k + string(e.v))",
      refused: "9: found no matching overload for '_+_' applied to '(list(selfType1.m.@idx), list(selfType1.m2.@idx))'",
    },
    { why: "a new key is added", expr: "(self.m + self.m).size()", is: "2", cost: 6 },
    { why: "an element by its index", expr: "self.m[1].v", is: "2", cost: 4 },
    {
      why: "several keys",
      expr: "[self.mm == self.mm2, (self.mm + self.mm2).size()]",
      refused: [
        "10: found no matching overload for '_==_' applied to '(list(selfType1.mm.@idx), list(selfType1.mm2.@idx))'",
        "32: found no matching overload for '_+_' applied to '(list(selfType1.mm.@idx), list(selfType1.mm2.@idx))'",
      ],
    },
    {
      why: "elements are compared in any order",
      expr: "self.m[0] in self.m2",
      refused: "11: found no matching overload for '@in' applied to '(selfType1.m.@idx, list(selfType1.m2.@idx))'",
    },
    { why: "a number is not an element", expr: "dyn(1) in dyn(self.m)", is: "ERR no such overload", cost: 4 },
    { why: "a list of type map and a number", expr: "dyn(self.m) == dyn(1)", is: "ERR no such overload", cost: 4 },
  ],
  subject,
);

testAnswers(
  [
    { why: "a value", expr: "self.m.a", is: "1", cost: 3 },
    { why: "a value by its key", expr: "self.m['b']", is: "2", cost: 3 },
    { why: "a value that is missing", expr: "self.m.c", is: "ERR no such key: c", cost: 3 },
    { why: "a key that is not a string", expr: "dyn(self.m)[1]", is: "ERR no such overload", cost: 5 },
    { why: "a key that is not a string in a test", expr: "dyn(1) in dyn(self.m)", is: "ERR no such overload", cost: 4 },
    {
      why: "keys",
      expr: "['a' in self.m, 'c' in self.m, has(self.m.a), has(self.m.c)]",
      is: "[true, false, true, false]",
      cost: 20,
    },
    { why: "maps are equal in any order", expr: "self.m == self.n", is: "true", cost: 5 },
    { why: "maps of another size", expr: "self.m == self.e", is: "false", cost: 4 },
    {
      why: "a map and a literal",
      expr: "[self.m == {'a': 1, 'b': 2}, self.m == {'a': 1, 'b': 3}, self.m == {'a': 1, 'c': 2}]",
      is: "[true, false, false]",
      cost: 19,
    },
    { why: "a literal and a map", expr: "{'a': 1, 'b': 2} == self.m", is: "true", cost: 3 },
    { why: "a map and a number", expr: "dyn(self.m) == dyn(1)", is: "ERR no such overload", cost: 4 },
    { why: "a map of lists", expr: "self.l.x[1]", is: '"2"', cost: 4 },
    {
      why: "a value that does not fit",
      expr: "self.w == {'a': 1}",
      is: "ERR invalid data, expected int, got string",
      cost: 3,
    },
    {
      why: "an object and an object",
      expr: "self.o == self.p",
      refused: "8: found no matching overload for '_==_' applied to '(selfType1.o, selfType1.p)'",
    },
    {
      why: "fields that the schema does not declare are compared",
      expr: "self.u == self.u2",
      refused: "8: found no matching overload for '_==_' applied to '(selfType1.u, selfType1.u2)'",
    },
    { why: "an object with unknown fields equals itself", expr: "self.u == self.u", is: "true", cost: 5 },
    { why: "the keys of an object in a comprehension", expr: "dyn(self.o).all(k, k == 'a')", is: "true", cost: 9 },
    { why: "an optional field", expr: "[self.?o.?b.hasValue(), self.?o.?a.hasValue()]", is: "[false, true]", cost: 17 },
    { why: "an optional value of a map", expr: "self.m[?'c'].orValue(7)", is: "7", cost: 2 },
    { why: "a selection through an optional", expr: "self.?m.a.orValue(0)", is: "1", cost: 3 },
  ],
  subject1,
);
