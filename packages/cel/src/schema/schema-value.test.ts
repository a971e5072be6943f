// SPDX-License-Identifier: Apache-2.0

import { type Subject, testAnswers } from "../../test/expressions.ts";

const subject: Subject = {
  schema: {
    type: "object",
    properties: {
      i: { type: "integer" },
      n: { type: "number" },
      b: { type: "boolean" },
      s: { type: "string" },
      big: { type: "integer" },
      x: { "x-kubernetes-int-or-string": true },
      y: { "x-kubernetes-int-or-string": true },
      any: { "x-kubernetes-preserve-unknown-fields": true },
      nul: { type: "string", nullable: true },
      open: { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { a: { type: "string" } } },
      whole: { type: "number" },
    },
  },
  self: {
    i: 5,
    n: 1.5,
    b: true,
    s: "text",
    big: 9007199254740993n,
    x: 7,
    y: "50%",
    any: { z: 1 },
    nul: null,
    open: { a: "b", c: "d" },
    whole: 3,
  },
};

const subject1: Subject = {
  schema: {
    type: "object",
    properties: {
      i: { type: "integer" },
      n: { type: "number" },
      b: { type: "boolean" },
      s: { type: "string" },
      l: { type: "array", items: { type: "integer" } },
      o: { type: "object", properties: { a: { type: "string" } } },
      m: { type: "object", additionalProperties: { type: "integer" } },
      x: { "x-kubernetes-int-or-string": true },
      z: { type: "string" },
      w: { type: "integer" },
    },
  },
  self: { i: "1", n: "1", b: 1, s: true, l: { a: 1 }, o: [1], m: { a: "x", b: null }, x: 1.5, z: [1], w: 1.5 },
};

const subject2: Subject = {
  schema: {
    type: "object",
    properties: {
      d: { type: "string", format: "date" },
      t: { type: "string", format: "date-time" },
      t2: { type: "string", format: "date-time" },
      t3: { type: "string", format: "date-time" },
      u: { type: "string", format: "duration" },
      u2: { type: "string", format: "duration" },
      u3: { type: "string", format: "duration" },
      u4: { type: "string", format: "duration" },
      u5: { type: "string", format: "duration" },
      y: { type: "string", format: "byte" },
      y2: { type: "string", format: "byte" },
      y3: { type: "string", format: "byte" },
      y4: { type: "string", format: "byte" },
      y5: { type: "string", format: "byte" },
      other: { type: "string", format: "uuid" },
      d2: { type: "string", format: "date" },
      t4: { type: "string", format: "date-time" },
    },
  },
  self: {
    d: "2020-02-29",
    t: "2020-01-02T03:04:05.5+01:00",
    t2: "2020-01-02T03:04:05",
    t3: "",
    u: "1h30m",
    u2: "3 days 4 hours",
    u3: "1 fortnight",
    u4: "2 wk 1 DAY",
    u5: "99999999999999999999 s",
    y: "aGk=",
    y2: "_-8=",
    y3: "+/8=",
    y4: "aGk",
    y5: "aG\nk=",
    other: "not one",
    d2: "2020-02-30",
    t4: "yesterday",
  },
};

const subject3: Subject = {
  schema: {
    type: "object",
    properties: {
      "a-b": { type: "string" },
      "a.b/c": { type: "string" },
      in: { type: "string" },
      namespace: { type: "string" },
      __x__: { type: "string" },
      x__y: { type: "string" },
      type: { type: "string" },
      $ref: { type: "string" },
      "1a": { type: "string" },
      _: { type: "string" },
      m: { type: "object", additionalProperties: { type: "string" } },
      é: { type: "string" },
    },
  },
  self: {
    "a-b": "1",
    "a.b/c": "2",
    in: "3",
    namespace: "4",
    __x__: "5",
    x__y: "6",
    type: "7",
    $ref: "8",
    "1a": "9",
    _: "10",
    m: { "a-b": "11", in: "12", __dot__: "13" },
    é: "14",
  },
};

const subject4: Subject = {
  schema: {
    type: "object",
    properties: {
      o: { type: "object", properties: { a: { type: "string" }, n: { type: "string", nullable: true } } },
      p: { type: "object", properties: { a: { type: "string" }, n: { type: "string", nullable: true } } },
      m: { type: "object", additionalProperties: { type: "string", nullable: true } },
      e: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
      er: {
        type: "array",
        items: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
      },
    },
  },
  self: {
    o: { a: "x", n: null },
    p: { a: "x" },
    m: { k: null },
    e: { apiVersion: "v1", kind: "Pod", metadata: { name: "n", labels: { a: "b" } }, spec: {} },
    er: [{ kind: "K", metadata: { generateName: "g" } }],
  },
};

testAnswers(
  [
    { why: "an integer is an int", expr: "type(self.i)", is: "type int", cost: 3 },
    { why: "an integer beyond 2^53", expr: "self.big", is: "9007199254740993", cost: 2 },
    { why: "a number is a double", expr: "self.n", is: "double 1.5", cost: 2 },
    { why: "a whole number is a double", expr: "self.whole", is: "double 3", cost: 2 },
    { why: "a bool", expr: "self.b", is: "true", cost: 2 },
    { why: "a string", expr: "self.s", is: '"text"', cost: 2 },
    { why: "an integer of an int-or-string", expr: "type(self.x)", is: "type int", cost: 3 },
    { why: "a string of an int-or-string", expr: "type(self.y)", is: "type string", cost: 3 },
    { why: "an int-or-string is dynamic", expr: "self.x + 1", is: "8", cost: 3 },
    { why: "an int-or-string is not both", expr: "self.y + 1", is: "ERR no such overload", cost: 3 },
    { why: "null in a nullable field is absent", expr: "has(self.nul)", is: "false", cost: 1 },
    { why: "a nullable field cannot be read", expr: "self.nul", is: "ERR no such key: nul", cost: 2 },
    { why: "data without a schema cannot be seen", expr: "self.any", refused: "5: undefined field 'any'" },
    {
      why: "fields that the schema does not declare cannot be seen",
      expr: "self.open.c",
      refused: "10: undefined field 'c'",
    },
    { why: "fields that it knows can", expr: "self.open.a", is: '"b"', cost: 3 },
    { why: "an object has the size of its members", expr: "dyn(self.open).size()", is: "2", cost: 4 },
    { why: "an object lists the fields that its schema declares", expr: "dyn(self.open).map(k, k)", is: '["a"]' },
    { why: "a field that does not exist", expr: "self.nope", refused: "5: undefined field 'nope'" },
  ],
  subject,
);

testAnswers(
  [
    { why: "an object equals itself", expr: "self.open == self.open", is: "true", cost: 5 },
    {
      why: "an object and a literal",
      expr: "dyn(self.open) == dyn({'a': 'b', 'c': 'd'})",
      is: "ERR no such overload",
      cost: 4,
    },
    { why: "an object and a number", expr: "dyn(self.open) == dyn(1)", is: "ERR no such overload", cost: 4 },
    { why: "the type of an object", expr: "type(dyn(self.open)) == map", is: "true", cost: 5 },
  ],
  subject,
);

testAnswers(
  [
    { why: "an integer that is a string", expr: "self.i", is: "ERR invalid data, expected int, got string", cost: 2 },
    { why: "a number that is a string", expr: "self.n", is: "ERR invalid data, expected float, got string", cost: 2 },
    { why: "a bool that is an integer", expr: "self.b", is: "ERR invalid data, expected bool, got int64", cost: 2 },
    { why: "a string that is a bool", expr: "self.s", is: "ERR invalid data, expected string, got bool", cost: 2 },
    {
      why: "a list that is an object",
      expr: "self.l",
      is: "ERR invalid data, expected an array for the provided schema with type=array",
      cost: 2,
    },
    {
      why: "an object that is a list",
      expr: "self.o",
      is: "ERR invalid data, expected a map for the provided schema with type=object",
      cost: 2,
    },
    {
      why: "an int-or-string that is neither",
      expr: "self.x",
      is: "ERR invalid data, expected XIntOrString value to be either a string or integer",
      cost: 2,
    },
    {
      why: "a string that is a list",
      expr: "self.z",
      is: "ERR invalid data, expected string, got []interface {}",
      cost: 2,
    },
    { why: "an integer with a fraction", expr: "self.w", is: "ERR invalid data, expected int, got float64", cost: 2 },
    {
      why: "a value of a map that is a string",
      expr: "self.m.a",
      is: "ERR invalid data, expected int, got string",
      cost: 3,
    },
    {
      why: "a value of a map that is null",
      expr: "self.m.b",
      is: "ERR invalid data, got null for schema with nullable=false",
      cost: 3,
    },
    {
      why: "what does not fit is an error at its place only",
      expr: "has(self.m.a) && self.m.size() == 2",
      is: "ERR invalid data, expected int, got string",
      cost: 6,
    },
  ],
  subject1,
);

testAnswers(
  [
    { why: "a date is a timestamp", expr: "self.d", is: "timestamp 2020-02-29T00:00:00Z", cost: 2 },
    { why: "a time keeps its offset", expr: "self.t", is: "timestamp 2020-01-02T03:04:05.5+01:00", cost: 2 },
    { why: "a time without a zone is in UTC", expr: "self.t2", is: "timestamp 2020-01-02T03:04:05Z", cost: 2 },
    { why: "an empty time is the epoch", expr: "self.t3", is: "timestamp 1970-01-01T00:00:00Z", cost: 2 },
    { why: "a duration of Go", expr: "self.u", is: "duration 5400000000000", cost: 2 },
    { why: "a duration in words", expr: "self.u2", is: "duration 273600000000000", cost: 2 },
    {
      why: "a unit that does not exist",
      expr: "self.u3",
      is: "ERR Invalid duration 1 fortnight: unable to parse 1 fortnight as duration",
      cost: 2,
    },
    { why: "units are read without regard to case", expr: "self.u4", is: "duration 1296000000000000", cost: 2 },
    {
      why: "a number that is too large",
      expr: "self.u5",
      is: 'ERR Invalid duration 99999999999999999999 s: strconv.Atoi: parsing "99999999999999999999": value out of range',
      cost: 2,
    },
    { why: "bytes in base64", expr: "self.y", is: "b6869", cost: 2 },
    { why: "bytes in the alphabet of URLs", expr: "self.y2", is: "bffef", cost: 2 },
    {
      why: "the other alphabet is refused",
      expr: "self.y3",
      is: "ERR Invalid byte formatted string +/8=: illegal base64 data at input byte 0",
      cost: 2,
    },
    {
      why: "padding is needed",
      expr: "self.y4",
      is: "ERR Invalid byte formatted string aGk: illegal base64 data at input byte 0",
      cost: 2,
    },
    { why: "line breaks are left out", expr: "self.y5", is: "b6869", cost: 2 },
    { why: "other formats are strings", expr: "self.other", is: '"not one"', cost: 2 },
    { why: "times can be computed with", expr: "self.t2 - self.d > duration('1h')", is: "false", cost: 6 },
    {
      why: "a day that does not exist fails",
      expr: "self.d2 == self.d2",
      is: 'ERR Invalid date formatted string 2020-02-30: parsing time "2020-02-30": day out of range',
      cost: 5,
    },
    {
      why: "a word is not a time",
      expr: "self.t4 == self.t4",
      is: 'ERR Invalid date-time formatted string yesterday: parsing time "yesterday" as "2006-01-02T15:04:05": cannot parse "yesterday" as "2006"',
      cost: 5,
    },
  ],
  subject2,
);

testAnswers(
  [
    { why: "a dash", expr: "self.a__dash__b", is: '"1"', cost: 2 },
    { why: "dots and slashes", expr: "self.a__dot__b__slash__c", is: '"2"', cost: 2 },
    { why: "a keyword", expr: "self.__in__", is: '"3"', cost: 2 },
    { why: "a keyword can be selected by itself as well", expr: "self.namespace", is: '"4"', cost: 2 },
    {
      why: "a keyword that the grammar knows cannot",
      expr: "self.in",
      refused: [
        "6: Syntax error: no viable alternative at input '.in'",
        "8: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
      ],
    },
    { why: "two underscores", expr: "self.__underscores__x__underscores__", is: '"5"', cost: 2 },
    { why: "two underscores inside", expr: "self.x__underscores__y", is: '"6"', cost: 2 },
    { why: "a word that is not a keyword of CEL", expr: "self.type", is: '"7"', cost: 2 },
    {
      why: "a name with a dollar sign cannot be selected",
      expr: "self.$ref",
      refused: "6: Syntax error: token recognition error at: '$'",
    },
    {
      why: "a name that starts with a digit cannot be selected",
      expr: "self.1a",
      refused: "5: Syntax error: mismatched input '.1' expecting <EOF>",
    },
    { why: "an underscore", expr: "self._", is: '"10"', cost: 2 },
    {
      why: "keys of a map are not escaped",
      expr: "self.m['a-b'] + self.m['in'] + self.m['__dot__']",
      is: '"111213"',
      cost: 11,
    },
    { why: "presence of an escaped name", expr: "has(self.a__dash__b)", is: "true", cost: 1 },
    { why: "an unknown escape", expr: "self.a__plus__b", refused: "5: undefined field 'a__plus__b'" },
    { why: "names that an object lists are escaped", expr: "dyn(self).exists(k, k == 'a__dash__b')", is: "true" },
    { why: "a name that cannot be escaped is listed as it is", expr: "dyn(self).exists(k, k == '$ref')", is: "true" },
  ],
  subject3,
);

testAnswers(
  [
    { why: "null in an object is absent", expr: "[has(self.o.n), has(self.o.a)]", is: "[false, true]", cost: 14 },
    {
      why: "null in a map is a value",
      expr: "[has(self.m.k), self.m.k == null, 'k' in self.m]",
      refused: "26: found no matching overload for '_==_' applied to '(string, null)'",
    },
    {
      why: "an object with null is not equal to one without",
      expr: "self.o == self.p",
      refused: "8: found no matching overload for '_==_' applied to '(selfType1.o, selfType1.p)'",
    },
    {
      why: "a resource inside has a kind and a name",
      expr: "self.e.kind + self.e.apiVersion + self.e.metadata.name",
      is: '"Podv1n"',
      cost: 12,
    },
    { why: "and no other metadata", expr: "self.e.metadata.labels", refused: "16: undefined field 'labels'" },
    { why: "and no other fields", expr: "self.e.spec", refused: "7: undefined field 'spec'" },
    { why: "resources in a list", expr: "self.er[0].metadata.generateName", is: '"g"', cost: 5 },
    { why: "a name that is not there", expr: "has(self.er[0].metadata.name)", is: "false", cost: 4 },
  ],
  subject4,
);
