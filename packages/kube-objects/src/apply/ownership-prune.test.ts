// SPDX-License-Identifier: Apache-2.0
// Which fields an apply takes away: those that the applier owned, no longer mentions, and no other manager owns.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "../json/json-value.ts";
import type { OwnedFields } from "./managers.ts";
import { prune } from "./ownership.ts";
import { owns, typed, versions } from "./testdata/widget.ts";

describe("what an apply takes away", () => {
  interface Apply {
    readonly merged: JsonObject;
    readonly last?: JsonObject;
    readonly applied: JsonObject;
    readonly others?: Readonly<Record<string, OwnedFields>>;
    readonly ownsEmptyContainer?: boolean;
  }

  function pruned({ merged, last, applied, others = {}, ownsEmptyContainer = false }: Apply): unknown {
    const now = owns(applied);
    const input = {
      versions,
      merged: typed(merged),
      owners: new Map([["me", now], ...Object.entries(others)]),
      applied: now,
      ownsEmptyContainer,
      last: last && owns(last),
    };
    const { apiVersion: _, ...rest } = finish(prune(input)).value as JsonObject;
    return rest;
  }

  test("a field that the applier no longer mentions", () => {
    const result = pruned({ merged: { a: "1", b: "1" }, last: { "f:a": {}, "f:b": {} }, applied: { "f:a": {} } });
    assert.deepEqual(result, { a: "1" });
  });

  test("not a field that another manager owns", () => {
    const result = pruned({
      merged: { a: "1", b: "1" },
      last: { "f:a": {}, "f:b": {} },
      applied: { "f:a": {} },
      others: { other: owns({ "f:b": {} }) },
    });
    assert.deepEqual(result, { a: "1", b: "1" });
  });

  test("not a field that it never owned", () => {
    const result = pruned({ merged: { a: "1", b: "1" }, last: { "f:a": {} }, applied: {} });
    assert.deepEqual(result, { b: "1" });
  });

  test("a key of a map, and the keys of others stay", () => {
    const result = pruned({
      merged: { map: { k: "1", l: "1" } },
      last: { "f:map": { "f:k": {} } },
      applied: {},
      others: { other: owns({ "f:map": { "f:l": {} } }) },
    });
    assert.deepEqual(result, { map: { l: "1" } });
  });

  test("a struct with its last field", () => {
    const result = pruned({
      merged: { a: "1", struct: { x: "1" } },
      last: { "f:a": {}, "f:struct": { "f:x": {} } },
      applied: { "f:a": {} },
    });
    assert.deepEqual(result, { a: "1" });
  });

  test("a field that another manager owns at another version stays", () => {
    const result = pruned({
      merged: { a: "1", b: "1" },
      last: { "f:a": {}, "f:b": {} },
      applied: { "f:a": {} },
      others: { other: owns({ "f:a": {} }, { apiVersion: "v2" }) },
    });
    assert.deepEqual(result, { a: "1", b: "1" }, "a of v2 is b of v1");
  });

  test("nothing, when it owned nothing before or gives up nothing", () => {
    const merged = { a: "1", b: "1" };
    assert.deepEqual(pruned({ merged, applied: { "f:a": {} } }), merged);
    assert.deepEqual(pruned({ merged, last: {}, applied: { "f:a": {} } }), merged);
    assert.deepEqual(pruned({ merged, last: { "f:a": {} }, applied: { "f:a": {}, "f:b": {} } }), merged);
  });

  test("nothing, when its last version is gone", () => {
    const input = {
      versions,
      merged: typed({ a: "1" }),
      owners: new Map([["me", owns({})]]),
      applied: owns({}),
      ownsEmptyContainer: false,
      last: owns({ "f:a": {} }, { apiVersion: "v0" }),
    };
    assert.equal(finish(prune(input)), input.merged);
  });
});
