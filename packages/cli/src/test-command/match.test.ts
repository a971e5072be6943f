// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "@purlin/kube-objects/json";
import { contains, mismatches, place } from "./match.ts";

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

test("a mismatch knows where its expectation is, also in lists that are matched by name", () => {
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
