// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFieldsV1, emptySet, type FieldSet } from "@purlin/kube-objects/apply";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { matchItems } from "./would-change.ts";

/** The node of a list that has these items. */
function owned(items: JsonObject): FieldSet {
  const whole = decodeFieldsV1({ "f:list": items });
  return whole.fields?.get("list") ?? emptySet;
}

const item = { ".": {}, "f:name": {} };
const named = (...names: string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [`k:{"name":${JSON.stringify(name)}}`, item]));
const objects = (...names: string[]): JsonValue[] => names.map((name) => ({ name }));

interface Row {
  readonly why: string;
  readonly owned: JsonObject;
  readonly wanted: readonly JsonValue[];
  readonly current: readonly JsonValue[];
  /** The names of the current items that are matched, or undefined. */
  readonly matched: readonly JsonValue[] | undefined;
}

const rows: readonly Row[] = [
  {
    why: "one to one, in order",
    owned: named("a", "b"),
    wanted: objects("a", "b"),
    current: objects("a", "b"),
    matched: objects("a", "b"),
  },
  {
    why: "with items of others before, between and after",
    owned: named("a", "b"),
    wanted: objects("a", "b"),
    current: objects("x", "a", "y", "b", "z"),
    matched: objects("a", "b"),
  },
  {
    why: "one that we own is no longer wanted",
    owned: named("a", "b"),
    wanted: objects("a"),
    current: objects("a", "b"),
    matched: undefined,
  },
  {
    why: "one that is wanted is not owned yet",
    owned: named("a"),
    wanted: objects("b"),
    current: objects("a", "b"),
    matched: undefined,
  },
  {
    why: "one that is owned and wanted has gone",
    owned: named("a"),
    wanted: objects("a"),
    current: objects("b"),
    matched: undefined,
  },
  {
    why: "another order",
    owned: named("a", "b"),
    wanted: objects("b", "a"),
    current: objects("a", "b"),
    matched: undefined,
  },
  {
    why: "the same key twice in what is there",
    owned: named("a"),
    wanted: objects("a"),
    current: objects("a", "a"),
    matched: undefined,
  },
  {
    why: "scalars in a list of objects",
    owned: named("a"),
    wanted: ["a"],
    current: objects("a"),
    matched: undefined,
  },
  {
    why: "numbers and booleans as keys",
    owned: { 'k:{"on":true,"port":80}': { ".": {}, "f:on": {}, "f:port": {} } },
    wanted: [{ port: 80, on: true }],
    current: [{ on: true, port: 80, name: "http" }],
    matched: [{ on: true, port: 80, name: "http" }],
  },
  {
    why: "a number is not its text",
    owned: { 'k:{"port":80}': { ".": {}, "f:port": {} } },
    wanted: [{ port: "80" }],
    current: [{ port: 80 }],
    matched: undefined,
  },
  {
    why: "values of a set",
    owned: { 'v:"a"': {}, "v:1": {} },
    wanted: ["a", 1],
    current: ["a", "b", 1],
    matched: ["a", 1],
  },
  {
    why: "names and values mixed",
    owned: { 'v:"a"': {}, ...named("b") },
    wanted: ["a", {}],
    current: ["a", {}],
    matched: undefined,
  },
  { why: "keys that are not objects", owned: { "i:0": {} }, wanted: ["a"], current: ["a"], matched: undefined },
];

for (const { why, owned: items, wanted, current, matched } of rows) {
  test(`${matched === undefined ? "no match" : "a match"}: ${why}`, () => {
    const found = matchItems(owned(items), wanted, current);
    assert.deepEqual(
      found?.map((one) => one.current),
      matched,
    );
    if (found !== undefined) {
      assert.deepEqual(
        found.map((one) => one.wanted),
        wanted,
      );
    }
  });
}
