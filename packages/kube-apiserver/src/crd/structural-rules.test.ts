// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { pause, schemaProps } from "./schema-props.ts";
import { undeclaredProblems } from "./structural-rules.ts";

const text = { type: "string" };

const cases: Readonly<Record<string, { schema: JsonObject; want: readonly string[]; reason: string }>> = {
  Undeclared: {
    reason: "a field that is only mentioned has no type",
    schema: { type: "object", anyOf: [{ properties: { a: { minimum: 1 } } }] },
    want: ["s.properties[a]: Required value: because it is defined in s.anyOf[0].properties[a]"],
  },
  Declared: {
    reason: "a field that is declared may be mentioned everywhere",
    schema: {
      type: "object",
      properties: { a: text },
      not: { properties: { a: {} } },
      allOf: [{ oneOf: [{ required: ["a"], properties: { a: {} } }] }],
    },
    want: [],
  },
  InItems: {
    reason: "items have to be declared as well",
    schema: { type: "object", properties: { a: text }, oneOf: [{ properties: { a: { items: {} } } }] },
    want: ["s.properties[a].items: Required value: because it is defined in s.oneOf[0].properties[a].items"],
  },
  BelowItems: {
    reason: "what is declared in items is found there",
    schema: {
      type: "object",
      properties: { a: { type: "array", items: { type: "object", properties: { b: text } } } },
      allOf: [{ properties: { a: { items: { properties: { b: {}, c: {} } } } } }],
    },
    want: [
      "s.properties[a].items.properties[c]: Required value: because it is defined in s.allOf[0].properties[a].items.properties[c]",
    ],
  },
  ValuesOfMaps: {
    reason: "the type of all values of a map declares none of them",
    schema: { type: "object", additionalProperties: text, not: { properties: { a: {} } } },
    want: ["s.properties[a]: Required value: because it is defined in s.not.properties[a]"],
  },
  NotTheRoot: {
    reason: "the reference looks at the root alone",
    schema: { type: "object", properties: { spec: { type: "object", anyOf: [{ properties: { a: {} } }] } } },
    want: [],
  },
};

for (const [name, { schema, want, reason }] of Object.entries(cases)) {
  test(`undeclared fields: ${name}`, () => {
    assert.deepEqual(
      [...undeclaredProblems(schemaProps(schema), "s")].filter((one) => one !== pause).map(fieldErrorText),
      want,
      reason,
    );
  });
}
