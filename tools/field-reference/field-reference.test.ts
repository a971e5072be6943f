// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { compositeKinds } from "./composite-kinds.ts";
import { fieldRows, typeOf } from "./field-rows.ts";
import { generateFieldReference } from "./generate-field-reference.ts";
import { kindsOfOurs } from "./kinds.ts";

const pages = generateFieldReference();

test("every kind has a page, in the index", () => {
  const index = pages.get("docs/reference/fields/README.md") ?? "";
  for (const { kind, group } of kindsOfOurs()) {
    const file = `${group.split(".")[0]}-${kind.toLowerCase()}.md`;
    assert.ok(pages.has(`docs/reference/fields/${file}`), file);
    assert.ok(index.includes(`[${kind}](${file}) | \`${group}\``), file);
  }
  assert.equal(pages.size, kindsOfOurs().length + compositeKinds().length + 1);
});

test("no page is left of a kind that is gone", () => {
  const files = readdirSync("docs/reference/fields").map((name) => `docs/reference/fields/${name}`);
  assert.deepEqual(files.toSorted(), [...pages.keys()].toSorted());
});

test("every field has a description", () => {
  const missing = [...pages].flatMap(([path, text]) =>
    text
      .split("\n")
      .filter((line) => /^\| `[a-z].*\|\s+\|$/.test(line))
      .map((line) => `${path}: ${line}`),
  );
  assert.deepEqual(missing, []);
});

const types: ReadonlyArray<readonly [schema: JsonObject, type: string]> = [
  [{ type: "string" }, "string"],
  [{ type: "integer", format: "int64" }, "integer (int64)"],
  [{ type: "array", items: { type: "string" } }, "list of string"],
  [{ type: "object", additionalProperties: { type: "integer" } }, "map of integer"],
  [{ type: "object", "x-kubernetes-preserve-unknown-fields": true }, "object with any fields"],
  [{ anyOf: [], "x-kubernetes-int-or-string": true }, "integer or string"],
  [{}, "any"],
];
for (const [schema, type] of types) {
  test(`a schema ${JSON.stringify(schema)} is of type ${type}`, () => {
    assert.equal(typeOf(schema), type);
  });
}

const schema: JsonObject = {
  type: "object",
  required: ["spec"],
  properties: {
    status: { type: "object" },
    spec: {
      type: "object",
      required: ["steps"],
      "x-kubernetes-validations": [{ rule: "has(self.steps)", message: "steps are needed" }, { rule: "true" }],
      properties: {
        mode: { type: "string", enum: ["A", "B"], default: "A", description: "The mode." },
        steps: {
          type: "array",
          minItems: 1,
          "x-kubernetes-list-map-keys": ["name"],
          items: { type: "object", properties: { name: { type: "string", pattern: "a|b" } } },
        },
        labels: {
          type: "object",
          additionalProperties: { type: "object", properties: { value: { type: "string" } } },
        },
        names: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string", maxLength: 5 } },
        theirs: { type: "object", properties: { hidden: { type: "string" } } },
      },
    },
  },
};

test("a schema becomes one row a field", () => {
  const rows = fieldRows(schema, new Map([["spec.theirs", "See theirs."]]));
  const plain = { isRequired: false, defaultValue: undefined, validations: [], description: "" };
  assert.deepEqual(rows, [
    { ...plain, path: "spec", type: "object", isRequired: true, validations: ["steps are needed", "`true`"] },
    { ...plain, path: "spec.labels", type: "map of object" },
    { ...plain, path: "spec.labels.*.value", type: "string" },
    {
      ...plain,
      path: "spec.mode",
      type: "string",
      defaultValue: '"A"',
      validations: ["one of `A`, `B`"],
      description: "The mode.",
    },
    {
      ...plain,
      path: "spec.names",
      type: "list of string",
      validations: ["no duplicates", "each: at most 5 characters"],
    },
    {
      ...plain,
      path: "spec.steps",
      type: "list of object",
      isRequired: true,
      validations: ["at least 1 item", "unique by `name`"],
    },
    { ...plain, path: "spec.steps[].name", type: "string", validations: ["matches `a|b`"] },
    { ...plain, path: "spec.theirs", type: "object", description: "See theirs." },
    { ...plain, path: "status", type: "object" },
  ]);
});
