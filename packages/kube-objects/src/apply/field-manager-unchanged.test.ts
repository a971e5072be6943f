// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { unlessOnlyTimesChanged } from "./field-manager.ts";

const entry = (manager: string, time?: string, fields: JsonObject = { "f:a": {} }): JsonValue => ({
  manager,
  operation: "Apply",
  apiVersion: "v1",
  ...(time ? { time } : {}),
  fieldsType: "FieldsV1",
  fieldsV1: fields,
});

const object = (entries: readonly JsonValue[], rest: Record<string, JsonValue> = {}): JsonObject => ({
  metadata: { name: "a", resourceVersion: "5", managedFields: entries },
  data: { k: "v" },
  ...rest,
});

const early = "2020-01-01T00:00:00Z";
const late = "2021-01-01T00:00:00Z";
const old = object([entry("a", early), entry("b")]);

test("only times changed: the old object stands", () => {
  assert.equal(unlessOnlyTimesChanged(object([entry("a", late), entry("b")]), old), old);
  assert.equal(unlessOnlyTimesChanged(object([entry("a", early), entry("b", late)]), old), old);
  assert.equal(unlessOnlyTimesChanged(old, old), old);
});

test("with any other change the new object is stored", () => {
  const rows: Readonly<Record<string, JsonObject>> = {
    Content: object([entry("a", late), entry("b")], { data: { k: "w" } }),
    EmptyForAbsent: object([entry("a", late), entry("b")], { extra: {} }),
    Fields: object([entry("a", late, { "f:z": {} }), entry("b")]),
    EntryAdded: object([entry("a", late), entry("b"), entry("c")]),
    EntryRemoved: object([entry("a", late)]),
    Order: object([entry("b"), entry("a", late)]),
    NoEntries: object([]),
    NoTimes: object([entry("a", early), entry("b")], { data: { k: "w" } }),
  };
  for (const [name, next] of Object.entries(rows)) assert.equal(unlessOnlyTimesChanged(next, old), next, name);
  const bare: JsonObject = { data: {} };
  assert.equal(unlessOnlyTimesChanged(bare, { data: {} }), bare);
});
