// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../json/json-value.ts";
import { publishSchema } from "./published-schema.ts";

const either = [{ type: "integer" }, { type: "string" }];
const intOrString = { "x-kubernetes-int-or-string": true };

const rows: Record<string, { reason: string; schema: JsonObject; want: JsonObject }> = {
  Kept: {
    reason: "schemas of the server",
    schema: {
      type: "string",
      description: "d",
      title: "t",
      format: "date",
      pattern: "x",
      minLength: 0,
      enum: ["a"],
      default: "a",
      nullable: true,
    },
    want: {
      type: "string",
      description: "d",
      title: "t",
      format: "date",
      pattern: "x",
      minLength: 0,
      enum: ["a"],
      default: "a",
      nullable: true,
    },
  },
  Unknown: {
    reason: "what it does not",
    schema: { type: "string", readOnly: true, "x-mine": 1, $ref: "#/x", id: "x" },
    want: { type: "string" },
  },
  Empty: {
    reason: "an empty schema",
    schema: {
      type: "",
      description: "",
      nullable: false,
      required: [],
      enum: [],
      properties: {},
      allOf: [],
      default: null,
      uniqueItems: false,
    },
    want: {},
  },
  WrongForms: {
    reason: "what is malformed",
    schema: {
      type: 5,
      minimum: "1",
      required: "a",
      properties: { a: 5 },
      items: [{}],
      additionalProperties: "x",
      not: [],
      enum: {},
    },
    want: {},
  },
  Nested: {
    reason: "schemas in schemas",
    schema: {
      properties: { a: { items: { type: "string", x: 1 } } },
      additionalProperties: { additionalProperties: false },
    },
    want: { properties: { a: { items: { type: "string" } } }, additionalProperties: { additionalProperties: false } },
  },
  Restrictions: {
    reason: "a restriction specifies no further members",
    schema: {
      anyOf: [{ properties: { a: { minimum: 1 } }, additionalProperties: { type: "string" } }],
      not: { items: { maximum: 1 } },
    },
    want: { anyOf: [{ properties: { a: { minimum: 1 } } }], not: { items: { maximum: 1 } } },
  },
  Extensions: {
    reason: "the server's own extensions",
    schema: {
      "x-kubernetes-preserve-unknown-fields": true,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      "x-kubernetes-map-type": "atomic",
      "x-kubernetes-embedded-resource": false,
      "x-kubernetes-patch-strategy": "merge",
    },
    want: {
      "x-kubernetes-preserve-unknown-fields": true,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      "x-kubernetes-map-type": "atomic",
    },
  },
  Rules: {
    reason: "rules without their empty members",
    schema: {
      "x-kubernetes-validations": [{ rule: "true", message: "", fieldPath: ".a", optionalOldSelf: false, other: 1 }],
    },
    want: { "x-kubernetes-validations": [{ rule: "true", fieldPath: ".a", optionalOldSelf: false }] },
  },
  IntOrString: { reason: "spelled out", schema: intOrString, want: { ...intOrString, anyOf: either } },
  IntOrStringAlready: {
    reason: "not twice",
    schema: { ...intOrString, anyOf: either },
    want: { ...intOrString, anyOf: either },
  },
  IntOrStringInAllOf: {
    reason: "nor when the first of allOf does",
    schema: { ...intOrString, allOf: [{ anyOf: either }, { minimum: 1 }] },
    want: { ...intOrString, allOf: [{ anyOf: either }, { minimum: 1 }] },
  },
  IntOrStringBesideAnyOf: {
    reason: "in allOf when anyOf is taken",
    schema: { ...intOrString, anyOf: [{ minimum: 1 }], allOf: [{ maximum: 5 }] },
    want: { ...intOrString, anyOf: [{ minimum: 1 }], allOf: [{ anyOf: either }, { maximum: 5 }] },
  },
};

for (const [name, { reason, schema, want }] of Object.entries(rows)) {
  test(`publishSchema ${name}: ${reason}`, () => {
    const before = JSON.stringify(schema);
    assert.deepEqual(publishSchema(schema), want);
    assert.equal(JSON.stringify(schema), before);
  });
}
