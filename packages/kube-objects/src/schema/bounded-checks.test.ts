// SPDX-License-Identifier: Apache-2.0
// Checks of long lists: linear in the list, with a bounded number of findings, the same at once and in parts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { checkingValue, checkValue } from "./check-value.ts";
import { checkListTypes } from "./structural-checks.ts";

const list = <T>(count: number, item: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => item(i));
const listOf = (items: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "array", items, ...more });
const shown = /^Invalid value: null: only the first 100 errors are shown/;

const wrong: Record<string, { readonly schema: JsonObject; readonly value: JsonValue; readonly first: string }> = {
  Enum: {
    schema: listOf({ type: "string", enum: ["a", "b"] }),
    value: list(20_000, () => "c"),
    first: 'Unsupported value: "c": supported values: "a", "b"',
  },
  Type: {
    schema: listOf({ type: "integer" }),
    value: list(20_000, () => "c"),
    first: 'Invalid value: "string": [0] in body must be of type integer: "string"',
  },
  Maximum: {
    schema: listOf({ type: "integer", maximum: 1 }),
    value: list(20_000, () => 2),
    first: "Invalid value: 2: [0] in body should be less than or equal to 1",
  },
  MapMembers: {
    schema: { type: "object", additionalProperties: { type: "integer", maximum: 1 } },
    value: Object.fromEntries(list(20_000, (i) => [`k${i}`, 2])),
    first: "Invalid value: 2: .k0 in body should be less than or equal to 1",
  },
};

for (const [name, { schema, value, first }] of Object.entries(wrong)) {
  test(`a hundred findings, and that there may be more: ${name}`, () => {
    const findings = checkValue(value, schema);
    assert.equal(findings.length, 101);
    assert.equal(findings[0]?.body, first);
    assert.match(findings[100]?.body ?? "", shown);
    assert.deepEqual(finish(checkingValue(value, schema)), findings, "in parts as at once");
  });
}

test("findings that each name all values of a long enum stop at a length", () => {
  const schema = listOf({ type: "string", enum: list(5_000, (i) => `word-${i}`) });
  const findings = checkValue(
    list(1_000, () => "x"),
    schema,
  );
  assert.ok(findings.length < 10, String(findings.length));
});

test("findings that are forgiven do not keep others from being found", () => {
  const schema = listOf({ type: "integer", maximum: 1 });
  const value = [...list(500, () => 2), 3];
  const findings = checkValue(value, schema, { forgives: ({ body }) => body.startsWith("Invalid value: 2:") });
  assert.deepEqual(
    findings.map(({ field }) => field),
    ["[500]"],
  );
});

test("values of an enum are found by type, as the reference converts them", () => {
  const allowed = ["a", 7, 2.5, true, [1], { a: 1, b: 2 }, 9223372036854775807n, "\u0041"];
  const rows: [JsonValue, boolean][] = [
    ["a", true],
    ["b", false],
    [7, true],
    [7.9, true],
    [8, false],
    [2.5, true],
    [2, false],
    [true, true],
    [false, false],
    [[1], true],
    [[2], false],
    [{ b: 2, a: 1 }, true],
    [{ a: 1 }, false],
    [9223372036854775807n, true],
    [9223372036854775806n, false],
    [65, true],
    [66, false],
    [null, false],
  ];
  for (const [value, isAllowed] of rows) {
    assert.equal(checkValue(value, { enum: allowed }).length === 0, isAllowed, String(JSON.stringify(String(value))));
  }
});

test("a long list with an enum of many values takes no longer than both together", () => {
  const schema = listOf({ type: "string", enum: list(20_000, (i) => `word-${i}`) });
  assert.deepEqual(
    checkValue(
      list(100_000, (i) => `word-${i % 20_000}`),
      schema,
    ),
    [],
  );
});

test("what is too large to be checked against alternatives is refused", () => {
  const alternatives = list(50, (i) => ({ items: { type: "string", maxLength: 100 + i } }));
  const value = list(10_000, () => "x");
  const findings = checkValue(value, { type: "array", items: { type: "string" }, allOf: alternatives });
  assert.match(findings.at(-1)?.body ?? "", /is too large to be checked against allOf, anyOf, oneOf or not/);
  assert.deepEqual(
    checkValue(value, { type: "array", items: { type: "string" }, allOf: alternatives.slice(0, 5) }),
    [],
  );
});

test("of lists with all items twice, a hundred are reported", () => {
  const twice = list(10_000, (i) => `i${i >> 1}`);
  const found = checkListTypes(twice, listOf({ type: "string" }, { "x-kubernetes-list-type": "set" }));
  assert.equal(found.length, 100);
  assert.equal(found[0]?.body, 'Duplicate value: "i0"');
});
