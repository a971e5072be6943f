// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { jsonPath } from "@purlin/kube-objects/json-path";
import { ageOf, humanDuration } from "@purlin/kube-objects/object";
import { customPrinter, makingTable } from "./table.ts";

const durations: readonly (readonly [number, string])[] = [
  [-2, "<invalid>"],
  [-1, "0s"],
  [0, "0s"],
  [119, "119s"],
  [120, "2m"],
  [125, "2m5s"],
  [599, "9m59s"],
  [600, "10m"],
  [3 * 3600 - 1, "179m"],
  [3 * 3600, "3h"],
  [3 * 3600 + 60, "3h1m"],
  [8 * 3600, "8h"],
  [47 * 3600, "47h"],
  [48 * 3600, "2d"],
  [50 * 3600, "2d2h"],
  [8 * 86400, "8d"],
  [729 * 86400, "729d"],
  [730 * 86400, "2y"],
  [731 * 86400, "2y1d"],
  [8 * 365 * 86400, "8y"],
];
for (const [seconds, text] of durations) {
  test(`${seconds} seconds are shown as ${text}`, () => assert.equal(humanDuration(seconds * 1000), text));
}

test("no time is unknown, no timestamp is invalid", () => {
  assert.deepEqual(
    [ageOf(undefined, 0), ageOf("soon", 0), ageOf("1970-01-01T00:00:00Z", 5000)],
    ["<unknown>", "<invalid>", "5s"],
  );
});

const object: JsonObject = {
  metadata: { name: "w", creationTimestamp: "2026-01-01T00:00:00Z", labels: { "a.b/c": "label" } },
  spec: { n: 3, f: 1.5, b: false, list: [1, 2], map: { x: 1 }, text: "t", none: null },
  status: {
    conditions: [
      { type: "Synced", status: "False" },
      { type: "Ready", status: "True" },
    ],
  },
};

const paths: Record<string, JsonValue[] | undefined> = {
  ".spec.n": [3],
  "spec.n": [3],
  ".spec.missing.deeper": [],
  ".metadata.labels.a\\.b/c": ["label"],
  ".metadata.labels['a\\.b/c']": ["label"],
  ".metadata.labels['a.b/c']": [],
  ".spec.list[1]": [2],
  ".spec.list[-1]": [2],
  ".spec.list[9]": [],
  ".spec.list[*]": [1, 2],
  '.status.conditions[?(@.type=="Ready")].status': ["True"],
  ".status.conditions[?(@.type=='Ready')].status": ["True"],
  '.status.conditions[?( @.type != "Ready" )].status': ["False"],
  ".spec..n": [3],
  ".spec[": undefined,
  ".spec[?(@.a)]": [],
};
for (const [path, found] of Object.entries(paths)) {
  test(`JSONPath ${path}`, () => {
    const finding = jsonPath(path)?.(object);
    assert.deepEqual(finding && finish(finding), found);
  });
}

const cell = (type: string, path: string): JsonValue =>
  customPrinter([{ name: "C", type, jsonPath: path }]).cells(object, Date.parse("2026-01-01T00:01:00Z"))[1] ?? null;

const cells: readonly (readonly [string, string, JsonValue])[] = [
  ["string", ".spec.n", "3"],
  ["string", ".spec.map", '{"x":1}'],
  ["string", ".spec.list", "[1,2]"],
  ["string", ".spec.b", "false"],
  ["string", ".spec.none", null],
  ["integer", ".spec.f", 1],
  ["integer", ".spec.text", null],
  ["number", ".spec.f", 1.5],
  ["boolean", ".spec.b", false],
  ["boolean", ".spec.text", null],
  ["date", ".metadata.creationTimestamp", "60s"],
  ["date", ".spec.n", null],
  ["string", ".nothing", null],
];
for (const [type, path, value] of cells) {
  test(`a ${type} column of ${path}`, () => assert.equal(cell(type, path), value));
}

test("without columns of its own a custom kind shows its age", () => {
  const printer = customPrinter([]);
  assert.deepEqual(
    printer.columns.map(({ name, type }) => [name, type]),
    [
      ["Name", "string"],
      ["Age", "date"],
    ],
  );
});

test("a table carries as much of its objects as asked for", () => {
  const table = (include: "None" | "Metadata" | "Object", withColumns: boolean): JsonObject =>
    finish(
      makingTable(customPrinter([]), object, { metadata: { resourceVersion: "7" }, include, now: 0, withColumns }),
    );
  const row = (value: JsonObject): JsonObject => (value["rows"] as readonly JsonObject[])[0] ?? {};
  assert.equal(row(table("None", true))["object"], null);
  assert.equal(row(table("Object", true))["object"], object);
  assert.deepEqual(row(table("Metadata", true))["object"], {
    kind: "PartialObjectMetadata",
    apiVersion: "meta.k8s.io/v1",
    metadata: object["metadata"],
  });
  assert.equal(table("None", false)["columnDefinitions"], null);
});

test("the cells of an object have at most 3 Mi characters, and further ones are empty", () => {
  const column = { name: "A", type: "string", jsonPath: ".spec.text" };
  const { cells } = customPrinter([column, column, column, column]);
  const text = "t".repeat(1024 * 1024);
  assert.deepEqual(cells({ metadata: { name: "w" }, spec: { text } }, 0), ["w", text, text, text, null]);
});
