// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "@purlin/kube-objects/json";
import { contains, exactMismatches, judgeExpression, literal, matchesInTime, mismatches, place } from "./match.ts";

const lines = (expected: JsonValue, actual: JsonValue): string[] =>
  mismatches(expected, actual, place("x")).map(({ text }) => text);

test("numbers are equal by value, and never equal to texts", () => {
  assert.deepEqual(lines(3, JSON.parse("3.0") as number), []);
  assert.deepEqual(lines(3, "3"), ['x: expected 3, got "3"']);
  assert.deepEqual(lines("3", 3), ['x: expected "3", got 3']);
});

test("integers beyond 2^53 are compared digit by digit, shown in full and are integers", () => {
  assert.deepEqual(lines(9007199254740993n, 9007199254740993n), []);
  assert.deepEqual(lines({ n: 9007199254740993n }, { n: 9007199254740995n }), [
    "x.n: expected 9007199254740993, got 9007199254740995",
  ]);
  assert.deepEqual(lines({ $gt: 3 }, 9223372036854775807n), []);
  assert.deepEqual(lines({ $lte: 9223372036854775806n }, 9223372036854775807n), [
    "x: expected at most 9223372036854775806, got 9223372036854775807",
  ]);
  assert.deepEqual(lines({ $type: "integer" }, 9007199254740993n), []);
  assert.deepEqual(lines({ $type: "number" }, 9007199254740993n), []);
  assert.deepEqual(lines({ $cel: "self + 1" }, 9007199254740993n), [
    "x: self + 1: expected true, got 9007199254740994",
  ]);
});

test("a mismatch has the position of its expectation, also in lists that are matched by name", () => {
  const expected = { ports: [{ name: "web", port: 80 }], list: [1, { $gt: 5 }], $$ref: "a" };
  const actual = {
    ports: [
      { name: "admin", port: 1 },
      { name: "web", port: 81 },
    ],
    list: [1, 2],
    $ref: "b",
  };
  assert.deepEqual(mismatches(expected, actual, place("resource", "svc")), [
    { text: "resource.svc.ports[name=web].port: expected 80, got 81", at: ["resource", "svc", "ports", 0, "port"] },
    { text: "resource.svc.list[1]: expected more than 5, got 2", at: ["resource", "svc", "list", 1] },
    { text: 'resource.svc.$ref: expected "a", got "b"', at: ["resource", "svc", "$$ref"] },
  ]);
});

test("operators: each holds for one value and not for another", () => {
  const cases: Readonly<Record<string, readonly [JsonValue, JsonValue, JsonValue]>> = {
    $regex: ["^a+$", "aa", "b"],
    $gte: [3, 3, 2],
    $lte: [3, 3, 4],
    $lt: [3, 2, 3],
    $in: [[1, "a"], "a", "b"],
    $type: ["integer", 3, 3.5],
    $len: [2, [1, 2], [1]],
    $exact: [{ a: 1 }, { a: 1 }, { a: 1, b: 2 }],
    $contains: [[{ a: 1 }], [{ b: 1 }, { a: 1, c: 2 }], [{ a: 2 }]],
    $cel: ["self.size() == 2", "ab", "abc"],
  };
  for (const [name, [operand, right, wrong]] of Object.entries(cases)) {
    assert.deepEqual(lines({ [name]: operand }, right), [], name);
    assert.equal(lines({ [name]: operand }, wrong).length, 1, name);
  }
  assert.match(lines({ $regexp: "a" }, "a")[0] ?? "", /^x: unknown operator \$regexp: expected one of \$regex, /);
});

test("an item that is not in a list is reported with the closest one, at its own place", () => {
  const [found] = contains(
    [{ type: "Ready" }, { type: "Synced", status: "True" }],
    [{ type: "Ready" }, { type: "Synced", status: "False" }],
    place("conditions"),
  );
  assert.deepEqual(found, {
    text: 'conditions: expected an item {"type":"Synced","status":"True"}, got 2; closest: conditions.status: expected "True", got "False"',
    at: ["conditions", 1],
  });
});

test("a value that is absent, null or of another type differs from what is expected", () => {
  const cases: readonly (readonly [expected: JsonValue, actual: JsonValue | undefined, line: string])[] = [
    [null, undefined, "x: expected null, got nothing"],
    [1, undefined, "x: expected 1, got nothing"],
    [{ a: 1 }, undefined, "x: expected an object, got nothing"],
    [{ a: 1 }, [1], "x: expected an object, got [1]"],
    [[1], { a: 1 }, 'x: expected a list, got {"a":1}'],
    [[1, 2], [1], "x[1]: expected 2, got nothing"],
    [{ a: null }, {}, "x.a: expected null, got nothing"],
    [{}, null, "x: expected an object, got null"],
  ];
  for (const [expected, actual, line] of cases)
    assert.deepEqual(
      mismatches(expected, actual, place("x")).map(({ text }) => text),
      [line],
    );
  assert.deepEqual(lines(null, null), []);
  assert.deepEqual(lines({}, { a: 1 }), []);
  assert.deepEqual(lines([1], [1, 2]), []);
});

test("items are matched by the first key that all expected items have and that is unique; by index otherwise", () => {
  const ports = [
    { name: "a", key: "k1", n: 1 },
    { name: "b", key: "k2", n: 2 },
  ];
  assert.deepEqual(lines([{ name: "b", n: 2 }], ports), []);
  assert.deepEqual(lines([{ key: "k2", n: 2 }], ports), []);
  assert.deepEqual(lines([{ name: "c" }], ports), ['x[name=c]: expected {"name":"c"}, got nothing']);
  assert.deepEqual(lines([{ n: 2 }], ports), ["x[0].n: expected 2, got 1"]);
  const twice = [ports[0], { ...ports[0], key: "k2" }] as JsonValue;
  assert.deepEqual(lines([{ name: "a", key: "k2" }], twice), [], "the name is not unique, the key is");
  assert.deepEqual(lines([{ name: "b" }], [{ name: "a" }, { name: "a" }]), ['x[0].name: expected "b", got "a"']);
  assert.deepEqual(lines([{ name: { $regex: "b" } }], ports), [
    'x[0].name: expected a string that matches "b", got "a"',
  ]);
});

test("a literal expects an equal value, also one with keys that look like operators", () => {
  const value = { schema: { $ref: "#/a" }, list: [{ $any: true }], $$: 1 };
  const at = place("v");
  assert.deepEqual(exactMismatches(literal(value), value, at), []);
  assert.deepEqual(mismatches(literal(value), value, at), []);
  assert.deepEqual(
    exactMismatches(literal(value), { ...value, list: [{ $any: false }], more: 1 }, at).map(({ text, at }) => [
      text,
      at,
    ]),
    [
      ["v.list[0].$any: expected true, got false", ["v", "list", 0, "$$any"]],
      ["v.more: expected nothing, got 1", ["v"]],
    ],
  );
});

test("existence: $exists, $absent and $any see null as a value", () => {
  const of = (expected: JsonValue, actual: JsonValue): string[] => lines({ f: expected }, actual);
  for (const value of [{ f: null }, { f: 0 }]) {
    assert.deepEqual(of({ $exists: true }, value), []);
    assert.deepEqual(of({ $absent: false }, value), []);
    assert.deepEqual(of({ $any: true }, value), []);
    assert.equal(of({ $exists: false }, value).length, 1);
  }
  assert.deepEqual(of({ $exists: true }, {}), ["x.f: expected existence true, got nothing"]);
  assert.deepEqual(of({ $absent: true }, { f: 1 }), ["x.f: expected absence true, got 1"]);
  assert.deepEqual(of({ $any: true }, {}), ["x.f: expected any value, true, got nothing"]);
});

test("operators never hold for an absent value, or one of another type", () => {
  const cases: Readonly<Record<string, JsonValue>> = {
    ...{ $regex: ".*", $gt: 0, $gte: 0, $lt: 9, $lte: 9, $in: [null], $type: "null", $len: 0, $exact: null },
    ...{ $contains: [], $cel: "self.size() == 0" },
  };
  for (const [name, operand] of Object.entries(cases))
    assert.equal(lines({ f: { [name]: operand } }, {}).length, 1, name);
  assert.deepEqual(lines({ $gt: 1 }, "2"), ['x: expected more than 1, got "2"']);
  assert.deepEqual(lines({ $regex: "1" }, 1), ['x: expected a string that matches "1", got 1']);
  assert.deepEqual(lines({ $len: 1 }, 5), ["x: expected the length 1, got 5"]);
  assert.deepEqual(lines({ $in: "abc" }, "a"), ['x: expected one of "abc", got "a"']);
});

test("limits of comparisons, types and lengths", () => {
  assert.equal(lines({ $gt: 3 }, 3).length, 1);
  assert.deepEqual(lines({ $gt: 3 }, 3.5), []);
  for (const [type, value] of Object.entries({
    null: null,
    array: [],
    object: {},
    string: "",
    boolean: false,
    number: 0.5,
  }))
    assert.deepEqual(lines({ $type: type }, value), [], type);
  assert.deepEqual(lines({ $type: "number" }, 3), []);
  assert.deepEqual(lines({ $len: 0 }, ""), []);
  assert.deepEqual(lines({ $len: 2 }, { a: 1, b: 2 }), []);
  assert.deepEqual(lines({ $len: 2 }, "😀ü"), [], "characters count, as in schemas and CEL");
});

test("an object with two keys, or whose key is escaped, is not an operator", () => {
  assert.deepEqual(lines({ $gt: 1, $lt: 3 }, { $gt: 1, $lt: 3 }), []);
  assert.deepEqual(lines({ $$gt: 1 }, { $gt: 1 }), []);
  assert.deepEqual(lines({ $: 1 }, { $: 1 }), []);
});

test("expressions that are wrong, fail or are not true are reported with their text", () => {
  assert.equal(judgeExpression("1 == 1", {}), undefined);
  assert.equal(judgeExpression("a", { a: "true" }), 'a: expected true, got "true"');
  assert.match(judgeExpression("a ==", { a: 1 }) ?? "", /^a ==: /);
  assert.match(judgeExpression("b == 1", { a: 1 }) ?? "", /^b == 1: /);
});

test("a regular expression that takes too long or is wrong is a line, not a crash", () => {
  assert.deepEqual([matchesInTime("^a", "ab"), matchesInTime("^b", "ab")], [true, false]);
  assert.equal(matchesInTime("[", "a"), "Invalid regular expression: /[/: Unterminated character class");
  assert.deepEqual(lines({ $regex: "[" }, "a"), ["x: Invalid regular expression: /[/: Unterminated character class"]);
});

test("$contains: each wanted item is in the list, in any order", () => {
  assert.deepEqual(lines({ $contains: [2, 1] }, [1, 2, 3]), []);
  assert.deepEqual(lines({ $contains: 2 }, [1, 2, 3]), []);
  assert.deepEqual(lines({ $contains: [4] }, []), ["x: expected an item 4, got 0"]);
  assert.deepEqual(lines({ $contains: [4] }, "text"), ['x: expected a list, got "text"']);
});

test("of items that differ equally, the closest is the one with the wanted type or name", () => {
  const conditions = [
    { type: "Synced", status: "True" },
    { type: "Ready", status: "False" },
  ];
  const text = (wanted: JsonValue): string | undefined =>
    contains([wanted], conditions, place("x"))[0]?.text.split("closest: ")[1];
  assert.equal(text({ type: "Ready", status: "True" }), 'x.status: expected "True", got "False"');
  assert.equal(text({ type: "Other", status: "True" }), 'x.type: expected "Other", got "Synced"');
});
