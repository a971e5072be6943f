// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { customPrinter } from "./table.ts";

const now = Date.parse("2026-11-15T12:00:00Z");
const object: JsonObject = {
  metadata: { name: "w", creationTimestamp: "2026-11-15T11:00:00Z" },
  spec: {
    count: 3.7,
    big: 9007199254740993n,
    ratio: 0.5,
    whole: 1e21,
    on: true,
    text: "hi",
    list: [1, "a"],
    map: { a: 1 },
    none: null,
  },
  status: { conditions: [{ type: "Ready", status: "True" }] },
};

const cells: Record<string, { reason: string; type: string; path: string; want: JsonValue }> = {
  Text: { reason: "as it is", type: "string", path: ".spec.text", want: "hi" },
  TextOfNumber: { reason: "as Go prints it", type: "string", path: ".spec.whole", want: "1e+21" },
  TextOfBoolean: { reason: "as JSON", type: "string", path: ".spec.on", want: "true" },
  TextOfList: { reason: "as JSON", type: "string", path: ".spec.list", want: '[1,"a"]' },
  TextOfMap: { reason: "as JSON", type: "string", path: ".spec.map", want: '{"a":1}' },
  TextByFilter: {
    reason: "the first that matches",
    type: "string",
    path: '.status.conditions[?(@.type=="Ready")].status',
    want: "True",
  },
  Integer: { reason: "what is behind the point is cut off", type: "integer", path: ".spec.count", want: 3 },
  BigInteger: { reason: "exact", type: "integer", path: ".spec.big", want: 9007199254740993n },
  IntegerOfText: { reason: "a value of another type is left out", type: "integer", path: ".spec.text", want: null },
  Number: { reason: "as it is", type: "number", path: ".spec.ratio", want: 0.5 },
  NumberOfText: { reason: "none", type: "number", path: ".spec.text", want: null },
  Boolean: { reason: "as it is", type: "boolean", path: ".spec.on", want: true },
  BooleanOfText: { reason: "none", type: "boolean", path: ".spec.text", want: null },
  Date: { reason: "as an age", type: "date", path: ".metadata.creationTimestamp", want: "60m" },
  DateOfText: { reason: "no time", type: "date", path: ".spec.text", want: "<invalid>" },
  DateOfNumber: { reason: "not even a text", type: "date", path: ".spec.count", want: null },
  Missing: { reason: "nothing", type: "string", path: ".spec.missing", want: null },
  Null: { reason: "nothing either", type: "string", path: ".spec.none", want: null },
  NoPath: { reason: "an invalid path finds nothing", type: "string", path: ".spec[", want: null },
};

for (const [name, { reason, type, path, want }] of Object.entries(cells)) {
  test(`a cell of a declared column: ${name}`, () => {
    const printer = customPrinter([{ name: "Column", type, jsonPath: path }]);
    assert.deepEqual(printer.cells(object, now), ["w", want], reason);
  });
}

test("the name comes first, then what is declared, with its description or its path", () => {
  const { columns } = customPrinter([
    { name: "Size", type: "integer", format: "int32", jsonPath: ".spec.count", description: "how many", priority: 1 },
    { name: "Text", type: "string", jsonPath: ".spec.text" },
  ]);
  assert.deepEqual(
    columns
      .map(({ name, type, format, description, priority }) => [name, type, format, description, priority])
      .slice(1),
    [
      ["Size", "integer", "int32", "how many", 1],
      ["Text", "string", "", "Custom resource definition column (in JSONPath format): .spec.text", 0],
    ],
  );
  assert.deepEqual([columns[0]?.name, columns[0]?.format], ["Name", "name"]);
});

test("without columns of its own a kind shows its age", () => {
  const printer = customPrinter([]);
  assert.deepEqual(printer.cells(object, now), ["w", "60m"]);
  assert.deepEqual(customPrinter([]).cells({}, now), ["", null]);
});
