// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../json/json-value.ts";
import { withoutForbiddenNulls } from "./check-schema.ts";

const schema: JsonObject = {
  type: "object",
  properties: {
    s: { type: "string" },
    n: { type: "string", nullable: true },
    any: {},
    l: { type: "array", items: { type: "object", properties: { s: { type: "string" } } } },
    m: { type: "object", additionalProperties: { type: "string" } },
  },
};

const cases: Record<string, { reason: string; value: unknown; want: unknown }> = {
  Forbidden: { reason: "a string is not nullable", value: { s: null }, want: {} },
  Nullable: { reason: "nullable stays", value: { n: null }, want: { n: null } },
  AnyType: { reason: "no type allows null", value: { any: null }, want: { any: null } },
  Unknown: {
    reason: "nothing is known about it",
    value: { x: null, y: { z: null } },
    want: { x: null, y: { z: null } },
  },
  InList: { reason: "members of items", value: { l: [{ s: null }, { s: "x" }] }, want: { l: [{}, { s: "x" }] } },
  Item: { reason: "items keep their places", value: { l: [null] }, want: { l: [null] } },
  InMap: { reason: "values of maps", value: { m: { a: null, b: "x" } }, want: { m: { b: "x" } } },
  Scalar: { reason: "a scalar is itself", value: "x", want: "x" },
  Root: { reason: "the root is not a member", value: null, want: null },
};

for (const [name, { reason, value, want }] of Object.entries(cases)) {
  test(`withoutForbiddenNulls ${name}: ${reason}`, () => {
    const before = JSON.stringify(value);
    assert.deepEqual(withoutForbiddenNulls(value, schema), want);
    assert.equal(JSON.stringify(value), before);
  });
}

test("what has no such nulls is not copied", () => {
  const clean = { l: [{ s: "x" }], m: { a: "x" } };
  assert.equal(withoutForbiddenNulls(clean, schema), clean);
  const dirty = { ...clean, s: null };
  assert.equal((withoutForbiddenNulls(dirty, schema) as typeof clean).l, clean.l);
});
