// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { pause, schemaProps } from "./schema-props.ts";
import { hasUnsupportedMembers, rootProblems, schemaProblems } from "./schema-rules.ts";

const text = { type: "string" };

function problems(schema: JsonObject, place: Partial<Parameters<typeof schemaProblems>[1]> = {}): string[] {
  const at = { path: "s", isRoot: true, noDefaults: undefined, insideMeta: false, ...place };
  return [...schemaProblems(schemaProps(schema), at)].filter((one) => one !== pause).map(fieldErrorText);
}

const unsupportedType = 'supported values: "array", "boolean", "integer", "number", "object", "string"';
const mapKeys = "this property is in x-kubernetes-list-map-keys, so it";
const mapOf = (items: JsonObject | undefined, keys: string[] = ["name"]): JsonObject => ({
  type: "array",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": keys,
  ...(items && { items }),
});
const named = (more: JsonObject = {}): JsonObject => ({
  type: "object",
  required: ["name"],
  properties: { name: text },
  ...more,
});
const setOf = (items: JsonObject): JsonObject => ({ type: "array", "x-kubernetes-list-type": "set", items });

const rows: readonly (readonly [string, JsonObject, readonly string[]])[] = [
  ["an object", { type: "object", properties: { a: text } }, []],
  ["an unknown type", { type: "text" }, [`s.type: Unsupported value: "text": ${unsupportedType}`]],
  [
    "the type null",
    { type: "null" },
    [
      `s.type: Unsupported value: "null": ${unsupportedType}`,
      "s.type: Forbidden: type cannot be set to null, use nullable as an alternative",
    ],
  ],
  [
    "members that are not supported",
    { id: "x", patternProperties: {}, dependencies: {}, $ref: "#/a" },
    [
      "s.id: Forbidden: id is not supported",
      "s.patternProperties: Forbidden: patternProperties is not supported",
      "s.dependencies: Forbidden: dependencies is not supported",
      "s.$ref: Forbidden: $ref is not supported",
    ],
  ],
  ["an empty member that is not supported", { id: "", $ref: "" }, []],
  [
    "a list of schemas for items",
    { type: "array", items: [text, { type: "x" }] },
    [
      "s.items: Forbidden: items must be a schema object and not an array",
      `s.items[1].type: Unsupported value: "x": ${unsupportedType}`,
    ],
  ],
  [
    "unique items",
    { type: "array", items: text, uniqueItems: true },
    ["s.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"],
  ],
  ["items that need not be unique", { type: "array", items: text, uniqueItems: false }, []],
  [
    "properties and additional ones",
    { properties: { a: text }, additionalProperties: text },
    ["s.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
  ],
  ["additional properties alone", { additionalProperties: text }, []],
  [
    "unknown fields that are not preserved",
    { "x-kubernetes-preserve-unknown-fields": false },
    ["s.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
  ],
  [
    "a map type without a type",
    { "x-kubernetes-map-type": "atomic" },
    ["s.type: Required value: must be object if x-kubernetes-map-type is specified"],
  ],
  [
    "a map type of a text, and an unknown one",
    { type: "string", "x-kubernetes-map-type": "x" },
    [
      's.type: Invalid value: "string": must be object if x-kubernetes-map-type is specified',
      's.x-kubernetes-map-type: Unsupported value: "x": supported values: "atomic", "granular"',
    ],
  ],
  [
    "a list type of a text",
    { type: "string", "x-kubernetes-list-type": "atomic" },
    ['s.type: Invalid value: "string": must be array if x-kubernetes-list-type is specified'],
  ],
  [
    "an unknown list type",
    { type: "array", items: text, "x-kubernetes-list-type": "x" },
    ['s.x-kubernetes-list-type: Unsupported value: "x": supported values: "atomic", "set", "map"'],
  ],
  [
    "keys without a list type",
    { type: "array", items: text, "x-kubernetes-list-map-keys": ["a"] },
    ["s.x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty"],
  ],
  [
    "keys of a set",
    { ...setOf(text), "x-kubernetes-list-map-keys": ["a"] },
    ['s.x-kubernetes-list-type: Invalid value: "set": must be map if x-kubernetes-list-map-keys is non-empty'],
  ],
  ["a set of texts", setOf(text), []],
  ["a set of atomic lists and maps", setOf({ type: "object", "x-kubernetes-map-type": "atomic" }), []],
  [
    "a set of maps",
    setOf({ type: "object" }),
    [
      "s.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
    ],
  ],
  [
    "a set of sets",
    setOf(setOf(text)),
    [
      's.items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a list with x-kubernetes-list-type=set',
    ],
  ],
  [
    "a set of items that may be null",
    setOf({ type: "string", nullable: true }),
    ["s.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set"],
  ],
  ["a map by a required key", mapOf(named()), []],
  [
    "a map by a key with a default",
    mapOf({ type: "object", properties: { name: { type: "string", default: "x" } } }),
    [],
  ],
  [
    "a map by a key that may be missing or null",
    mapOf({ type: "object", nullable: true, properties: { name: { type: "string", nullable: true } } }),
    [
      "s.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map",
      `s.items.properties[name].default: Required value: ${mapKeys} must have a default or be a required property`,
      `s.items.properties[name].nullable: Forbidden: ${mapKeys} cannot be nullable`,
    ],
  ],
  [
    "a map without keys and items",
    mapOf(undefined, []),
    [
      "s.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
      "s.items: Required value: must have a schema if x-kubernetes-list-type is map",
    ],
  ],
  [
    "a map of texts",
    mapOf(text),
    [`s.items.type: Invalid value: "string": must be object if parent array's x-kubernetes-list-type is map`],
  ],
  [
    "keys that are not properties, or come twice",
    mapOf(named(), ["name", "other", "name"]),
    [
      's.x-kubernetes-list-map-keys: Invalid value: ["name","other","name"]: entries must all be names of item properties',
      's.x-kubernetes-list-map-keys: Invalid value: ["name","other","name"]: must not contain duplicate entries',
    ],
  ],
  [
    "a key that is not a scalar",
    mapOf(named({ properties: { name: { type: "array", items: text } } })),
    [
      `s.items.properties[name].type: Invalid value: "object": must be a scalar type if parent array's x-kubernetes-list-type is map`,
    ],
  ],
];

for (const [name, schema, expected] of rows) {
  test(`a schema: ${name}`, () => {
    assert.deepEqual(problems(schema), expected);
  });
}

test("every schema within a schema is checked at its place", () => {
  const bad = { type: "x" };
  const inside = {
    properties: { p: bad },
    items: bad,
    not: bad,
    allOf: [bad],
    anyOf: [text, bad],
    oneOf: [bad],
  };
  assert.deepEqual(
    problems(inside).map((error) => error.split(":")[0]),
    ["s.properties[p].type", "s.not.type", "s.allOf[0].type", "s.oneOf[0].type", "s.anyOf[1].type", "s.items.type"],
  );
  assert.equal(problems({ additionalProperties: bad })[0]?.split(":")[0], "s.additionalProperties.type");
});

const withDefault = { type: "string", default: "x" };

test("metadata at the top has no defaults, and no resources inside", () => {
  assert.deepEqual(
    problems({ properties: { kind: withDefault, metadata: { properties: { name: withDefault } }, spec: withDefault } }),
    [
      "s.properties[kind].default: Forbidden: must not be set in top-level kind",
      "s.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata",
    ],
  );
  const embedded = { type: "object", "x-kubernetes-embedded-resource": true };
  assert.deepEqual(problems({ properties: { metadata: { properties: { a: embedded } }, spec: embedded } }), [
    "s.properties[metadata].properties[a].x-kubernetes-embedded-resource: Forbidden: must not be used inside of resource meta",
  ]);
});

test("metadata of an embedded resource may have defaults, but not in additional properties", () => {
  const resource = (metadata: JsonObject): JsonObject => ({
    properties: { a: { "x-kubernetes-embedded-resource": true, properties: { metadata } } },
  });
  assert.deepEqual(problems(resource({ properties: { name: withDefault } })), []);
  assert.deepEqual(problems(resource({ properties: { labels: { additionalProperties: withDefault } } })), [
    "s.properties[a].properties[metadata].properties[labels].additionalProperties.default: Forbidden: must not be set inside additionalProperties applying to object metadata",
  ]);
});

test("a place can forbid defaults", () => {
  assert.deepEqual(problems(withDefault, { noDefaults: " in v1beta1" }), [
    "s.default: Forbidden: must not be set in v1beta1",
  ]);
});

test("members that are not supported are found at any depth", () => {
  for (const bad of [
    { id: "x" },
    { $ref: "#/x" },
    { items: [text] },
    { "x-kubernetes-preserve-unknown-fields": false },
    { $schema: "x" },
  ]) {
    for (const schema of [
      bad,
      { properties: { a: bad } },
      { items: bad },
      { additionalProperties: bad },
      { not: bad },
      { allOf: [bad] },
      { anyOf: [bad] },
      { oneOf: [bad] },
    ]) {
      assert.ok(hasUnsupportedMembers(schemaProps(schema as JsonObject)), JSON.stringify(schema));
    }
  }
  assert.ok(
    !hasUnsupportedMembers(
      schemaProps({ type: "object", properties: { a: text }, "x-kubernetes-preserve-unknown-fields": true }),
    ),
  );
});

test("the root of a schema with a status has an object and few members", () => {
  const root = (schema: JsonObject): string[] => [...rootProblems(schema, "s")].map(fieldErrorText);
  assert.deepEqual(root({ type: "object", description: "x", properties: { a: text }, required: ["a"] }), []);
  assert.deepEqual(root({ type: "string" }), [
    's.type: Invalid value: "string": only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
  ]);
  const [error = "", ...others] = root({ type: "object", nullable: true, oneOf: [{}] });
  assert.deepEqual(others, [], "the first one only");
  assert.ok(error.startsWith("s: Invalid value: {"));
  assert.ok(error.includes(": only [Description Type Format Title Maximum ExclusiveMaximum Minimum "));
});
