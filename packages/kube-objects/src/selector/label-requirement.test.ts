// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isBadRequest } from "../errors/status-error.ts";
import { createRequirement, formatRequirement, type LabelOperator, meetsRequirement } from "./label-requirement.ts";

const label =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const key =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const integer = "for 'Gt', 'Lt' operators, the value must be an integer";
const oneInteger = "for 'Gt', 'Lt' operators, exactly one value is required";
const exact = "exact-match compatibility requires one single value";
const none = "values set must be empty for exists and does not exist";

const refused: readonly (readonly [string, LabelOperator, readonly string[], string])[] = [
  [
    "in without values",
    "in",
    [],
    "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
  ],
  [
    "notin without values",
    "notin",
    [],
    "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
  ],
  ["= without a value", "=", [], `values: Invalid value: null: ${exact}`],
  ["== with two values", "==", ["a", "b"], `values: Invalid value: ["a","b"]: ${exact}`],
  ["!= with two values", "!=", ["a", "b"], `values: Invalid value: ["a","b"]: ${exact}`],
  ["exists with a value", "exists", ["a"], `values: Invalid value: ["a"]: ${none}`],
  ["! with a value", "!", ["a"], `values: Invalid value: ["a"]: ${none}`],
  ["gt without a value", "gt", [], `values: Invalid value: null: ${oneInteger}`],
  ["lt with two values", "lt", ["1", "2"], `values: Invalid value: ["1","2"]: ${oneInteger}`],
  ["gt with a text", "gt", ["a"], `values[0]: Invalid value: "a": ${integer}`],
  ["gt with a fraction", "gt", ["1.5"], `values[0]: Invalid value: "1.5": ${integer}`],
  ["lt beyond 64 bits", "lt", ["9223372036854775808"], `values[0]: Invalid value: "9223372036854775808": ${integer}`],
  ["an invalid value", "in", ["a", "-"], `values[1][k]: Invalid value: "-": ${label}`],
];

for (const [name, operator, values, message] of refused) {
  test(`a requirement is refused: ${name}`, () => {
    assert.throws(
      () => createRequirement("k", operator, values),
      (error: Error) => {
        assert.ok(isBadRequest(error));
        assert.equal(error.message, message);
        return true;
      },
    );
  });
}

test("everything that is wrong with a requirement is reported together", () => {
  assert.throws(() => createRequirement("a b", "=", ["-", "x"]), {
    message: `[key: Invalid value: "a b": ${key}, values: Invalid value: ["-","x"]: ${exact}, values[0][a b]: Invalid value: "-": ${label}]`,
  });
});

test("a requirement that makes sense is returned", () => {
  assert.deepEqual(createRequirement("x.org/a", "in", ["b", ""]), {
    key: "x.org/a",
    operator: "in",
    values: ["b", ""],
  });
  assert.deepEqual(createRequirement("a", "!", []), { key: "a", operator: "!", values: [] });
});

const longZeros = `${"0".repeat(60)}7`;

const met: readonly (readonly [
  LabelOperator,
  readonly string[],
  readonly (string | undefined)[],
  readonly (string | undefined)[],
])[] = [
  ["in", ["a", "b"], ["a", "b"], ["c", "", undefined]],
  ["=", ["a"], ["a"], ["A", undefined]],
  ["==", [""], [""], ["a", undefined]],
  ["notin", ["a", "b"], ["c", "", undefined], ["a", "b"]],
  ["!=", ["a"], ["b", undefined], ["a"]],
  ["exists", [], ["", "a"], [undefined]],
  ["!", [], [undefined], ["", "a"]],
  [
    "gt",
    ["5"],
    ["6", "+6", "9223372036854775807", longZeros],
    ["5", "4", "-6", "a", "6.5", "", undefined, "9223372036854775808"],
  ],
  ["lt", ["5"], ["4", "-9223372036854775808", "04"], ["5", "6", "a", undefined, "-9223372036854775809"]],
];

for (const [operator, values, yes, no] of met) {
  test(`labels that meet ${operator} ${JSON.stringify(values)}`, () => {
    const requirement = { key: "k", operator, values };
    for (const value of yes) assert.ok(meetsRequirement(requirement, value), String(value));
    for (const value of no) assert.ok(!meetsRequirement(requirement, value), String(value));
  });
}

test("requirements are formatted as texts, several values sorted", () => {
  const text = (operator: LabelOperator, ...values: string[]): string =>
    formatRequirement({ key: "k", operator, values });
  assert.equal(text("in", "b", "a", "é", "B"), "k in (B,a,b,é)");
  assert.equal(text("notin", ""), "k notin ()");
  assert.equal(text("=", "a"), "k=a");
  assert.equal(text("==", ""), "k==");
  assert.equal(text("!=", "a"), "k!=a");
  assert.equal(text("gt", "1"), "k>1");
  assert.equal(text("lt", "1"), "k<1");
  assert.equal(text("exists"), "k");
  assert.equal(text("!"), "!k");
});
