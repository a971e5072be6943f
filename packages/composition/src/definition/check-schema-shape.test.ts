// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { unknownKeywords } from "./check-schema-shape.ts";

const text = (schema: object): string[] =>
  unknownKeywords(schema as never).map(({ path, closest }) => `${path.join(".")} ${closest ?? "?"}`);

test("misspelled keywords are found wherever schemas are, and names of fields are not keywords", () => {
  const leaf = { type: "string", patern: "x" };
  const schema = {
    type: "object",
    propertes: { a: {} },
    properties: { requird: { type: "string" }, a: leaf },
    additionalProperties: leaf,
    items: { items: leaf },
    allOf: [leaf, { not: leaf }],
  };
  assert.deepEqual(text(schema), [
    "propertes properties",
    "properties.a.patern pattern",
    "additionalProperties.patern pattern",
    "items.items.patern pattern",
    "allOf.0.patern pattern",
    "allOf.1.not.patern pattern",
  ]);
});

test("keywords of API servers, values and extensions of others are left alone", () => {
  const known = {
    default: { tyep: 1 },
    example: { x: 1 },
    enum: [{ y: 1 }],
    externalDocs: { url: "x" },
    nullable: true,
  };
  assert.deepEqual(text({ ...known, "x-other": { z: 1 }, "x-kubernetes-int-or-string": true, maxLength: 1 }), []);
  assert.deepEqual(text({ "x-kubernetes-validation": [], qqq: 1 }), [
    "x-kubernetes-validation x-kubernetes-validations",
    "qqq ?",
  ]);
  for (const odd of [null, 1, "x", [], { properties: null, items: 1 }])
    assert.deepEqual(unknownKeywords(odd as never), []);
});
