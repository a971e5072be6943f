// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { defaultProblems } from "./default-rules.ts";
import { pause, schemaProps } from "./schema-props.ts";

const problems = (properties: JsonObject, more: JsonObject = {}): string[] =>
  [...defaultProblems(schemaProps({ type: "object", properties, ...more }), "s")]
    .filter((one) => one !== pause)
    .map(fieldErrorText);
const of = (schema: JsonObject): string[] => problems({ a: schema });

const anyValue: JsonObject = { "x-kubernetes-preserve-unknown-fields": true };
const notSeen = "rule compiler initialization error: failed to convert to declType for CEL validation rules";

const rows: readonly (readonly [string, JsonObject, readonly string[]])[] = [
  ["no default", { type: "string" }, []],
  ["a valid default", { type: "string", default: "x", maxLength: 1 }, []],
  [
    "another type",
    { type: "string", default: 1 },
    ['s.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer"'],
  ],
  [
    "a value that is too long",
    { type: "string", default: "xy", maxLength: 1 },
    ["s.properties[a].default: Too long: may not be more than 1 byte"],
  ],
  [
    "a field that would be pruned",
    { type: "object", properties: { b: { type: "string" } }, default: { b: "x", c: 1 } },
    ['s.properties[a].default: Invalid value: {"b":"x","c":1}: must not have unknown fields'],
  ],
  [
    "any fields where they are preserved",
    { type: "object", "x-kubernetes-preserve-unknown-fields": true, default: { c: 1 } },
    [],
  ],
  ["an integer or a text", { "x-kubernetes-int-or-string": true, default: "50%" }, []],
  [
    "a rule that the default breaks",
    { type: "integer", default: 5, "x-kubernetes-validations": [{ rule: "self < 3", message: "too many" }] },
    ["s.properties[a].default: Invalid value: 5: too many"],
  ],
  [
    "a rule of a list of any values",
    { type: "array", items: anyValue, default: [], "x-kubernetes-validations": [{ rule: "true" }] },
    [`s.properties[a].default: Invalid value: "array": ${notSeen}`],
  ],
  [
    "a rule of a map of any values",
    { type: "object", additionalProperties: anyValue, default: {}, "x-kubernetes-validations": [{ rule: "true" }] },
    [`s.properties[a].default: Invalid value: "object": ${notSeen}`],
  ],
  [
    "a rule of any value",
    { ...anyValue, default: 1, "x-kubernetes-validations": [{ rule: "true" }] },
    [`s.properties[a].default: Invalid value: "": ${notSeen}`],
  ],
  [
    "a rule of a list of integers or texts",
    {
      type: "array",
      items: { "x-kubernetes-int-or-string": true },
      default: [1],
      "x-kubernetes-validations": [{ rule: "self.size() > 1" }],
    },
    ["s.properties[a].default: Invalid value: failed rule: self.size() > 1"],
  ],
  [
    "a rule in any value",
    {
      ...anyValue,
      properties: { b: { type: "integer", default: 5, "x-kubernetes-validations": [{ rule: "self < 3" }] } },
    },
    ["s.properties[a].properties[b].default: Invalid value: 5: failed rule: self < 3"],
  ],
  [
    "a rule that the default meets",
    { type: "integer", default: 2, "x-kubernetes-validations": [{ rule: "self < 3" }] },
    [],
  ],
];

for (const [name, schema, expected] of rows) {
  test(`a default: ${name}`, () => {
    assert.deepEqual(of(schema), expected);
  });
}

test("the place of an error within a default has a point before the index of an item", () => {
  assert.deepEqual(of({ type: "array", items: { type: "string" }, default: ["a", 1] }), [
    's.properties[a].default.[1]: Invalid value: "integer": [1] in body must be of type string: "integer"',
  ]);
});

test("defaults are checked in items and properties, at any depth", () => {
  const wrong = { type: "string", default: true };
  const found = problems({
    list: { type: "array", items: wrong },
    nested: { type: "object", properties: { x: wrong } },
  });
  assert.deepEqual(
    found.map((text) => text.split(":")[0]),
    ["s.properties[list].items.default", "s.properties[nested].properties[x].default"],
  );
});
