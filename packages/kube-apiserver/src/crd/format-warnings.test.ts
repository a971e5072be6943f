// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { formatWarnings } from "./crd-rules.ts";

const crd = (...schemas: readonly JsonObject[]): JsonObject => ({
  spec: { versions: schemas.map((openAPIV3Schema) => ({ schema: { openAPIV3Schema } })) },
});
const field = (schema: JsonObject): JsonObject => ({ type: "object", properties: { a: schema } });

const cases: Readonly<Record<string, { schema: JsonObject; want: readonly string[]; reason: string }>> = {
  Checked: { schema: { type: "string", format: "date-time" }, want: [], reason: "dashes do not matter" },
  Unknown: {
    schema: { type: "string", format: "nope" },
    want: ['unrecognized format "nope"'],
    reason: "no such format",
  },
  OfNumbers: { schema: { type: "integer", format: "int64" }, want: [], reason: "integers have two formats" },
  OfOtherType: {
    schema: { type: "integer", format: "double" },
    want: ['unrecognized format "double"'],
    reason: "a format belongs to one type",
  },
  OfObjects: {
    schema: { type: "object", format: "uuid" },
    want: ['unrecognized format "uuid"'],
    reason: "objects have none",
  },
  Untyped: { schema: { "x-kubernetes-int-or-string": true, format: "uuid" }, want: [], reason: "may be a string" },
  Everywhere: {
    schema: {
      type: "array",
      items: { type: "object", additionalProperties: { type: "string", format: "f1" } },
      not: { format: "f2" },
      allOf: [{ format: "f3" }],
      anyOf: [{ properties: { b: { format: "f4" } } }],
      oneOf: [{ format: "f5" }],
    },
    want: ["f1", "f2", "f3", "f4", "f5"].map((name) => `unrecognized format "${name}"`),
    reason: "no node of a schema is left out",
  },
};

for (const [name, { schema, want, reason }] of Object.entries(cases)) {
  test(`warnings about formats: ${name}`, () => {
    assert.deepEqual(formatWarnings(crd(field(schema)), undefined).sort(), want, reason);
  });
}

test("a definition is not warned about formats it had before", () => {
  const [before, after] = ["old", "new"].map((format) => field({ type: "string", format }));
  assert.deepEqual(formatWarnings(crd(before ?? {}, after ?? {}), crd(before ?? {})), ['unrecognized format "new"']);
});
