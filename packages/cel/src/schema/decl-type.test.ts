// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "@purlin/kube-objects/schema";
import { formatType } from "../types/types.ts";
import {
  celTypeOf,
  DeclaredObjects,
  type DeclType,
  declare,
  environmentOf,
  follow,
  maxRequestBytes,
  maxSchemaDepth,
} from "./decl-type.ts";

const declared = (schema: Schema): DeclType => declare(schema) ?? assert.fail("expressions cannot see the schema");

/** The type of a schema, the most elements of its values, and the bytes of its shortest value. */
function shown(schema: Schema): readonly [type: string, maxElements: number, minSize: number] {
  const { maxElements, minSize, ...rest } = declared(schema);
  return [
    formatType(celTypeOf({ ...rest, maxElements, minSize }, "T", new DeclaredObjects())),
    Number(maxElements),
    minSize,
  ];
}

const text = (more: Schema = {}): Schema => ({ type: "string", ...more });
const longest = maxRequestBytes - 2;

const scalars: Readonly<Record<string, readonly [schema: Schema, type: string, maxElements: number, minSize: number]>> =
  {
    "a bool": [{ type: "boolean" }, "bool", 0, 4],
    "an integer": [{ type: "integer" }, "int", 0, 1],
    "a number": [{ type: "number" }, "double", 0, 1],
    "a string is as long as a request": [text(), "string", longest, 2],
    "a character of a bounded string takes up to four bytes": [text({ maxLength: 10 }), "string", 40, 2],
    "an empty string": [text({ maxLength: 0 }), "string", 0, 2],
    "a negative length": [text({ maxLength: -1 }), "string", 0, 2],
    "a choice of strings is as long as the longest": [text({ enum: ["a", "\u00e9\u00e9"] }), "string", 4, 2],
    "a length wins over the choices": [text({ enum: ["abc"], maxLength: 1 }), "string", 4, 2],
    "a duration": [text({ format: "duration" }), "duration", 32, 3],
    "a date": [text({ format: "date" }), "timestamp", 12, 12],
    "a time": [text({ format: "date-time" }), "timestamp", 32, 21],
    "bytes have no characters": [text({ format: "byte", maxLength: 10 }), "bytes", 10, 2],
    "unbounded bytes": [text({ format: "byte" }), "bytes", longest, 2],
    "another format is a string": [text({ format: "uuid" }), "string", longest, 2],
    "an integer or a string": [{ "x-kubernetes-int-or-string": true }, "dyn", longest, 1],
    "an integer or a bounded string": [{ "x-kubernetes-int-or-string": true, maxLength: 5 }, "dyn", 20, 1],
  };

for (const [why, [schema, ...expected]] of Object.entries(scalars)) {
  test(`a declared scalar: ${why}`, () => assert.deepEqual(shown(schema), expected));
}

const collections: typeof scalars = {
  "a list of integers fills a request": [{ type: "array", items: { type: "integer" } }, "list(int)", longest / 2, 2],
  "a list of bools": [{ type: "array", items: { type: "boolean" } }, "list(bool)", Math.floor(longest / 5), 2],
  "a bounded list": [{ type: "array", maxItems: 3, items: text() }, "list(string)", 3, 2],
  "a list of no elements": [{ type: "array", maxItems: 0, items: text() }, "list(string)", 0, 2],
  "a map fills a request": [
    { type: "object", additionalProperties: { type: "integer" } },
    "map(string, int)",
    Math.floor(longest / 7),
    2,
  ],
  "a bounded map": [
    { type: "object", maxProperties: 4, additionalProperties: { type: "boolean" } },
    "map(string, bool)",
    4,
    2,
  ],
  "a list of objects": [{ type: "array", maxItems: 2, items: { type: "object" } }, "list(T.@idx)", 2, 2],
  "a map of lists": [
    { type: "object", maxProperties: 2, additionalProperties: { type: "array", items: text() } },
    "map(string, list(string))",
    2,
    2,
  ],
};

for (const [why, [schema, ...expected]] of Object.entries(collections)) {
  test(`a declared collection: ${why}`, () => assert.deepEqual(shown(schema), expected));
}

test("expressions cannot see values without a type", () => {
  assert.equal(declare({}), undefined);
  assert.equal(declare({ "x-kubernetes-preserve-unknown-fields": true }), undefined);
  assert.equal(declare({ type: "array" }), undefined);
  assert.equal(declare({ type: "array", items: {} }), undefined);
  assert.equal(declare({ type: "object", additionalProperties: {} }), undefined);
});

test("the shortest object has its required fields without defaults", () => {
  const properties: Readonly<Record<string, Schema>> = {
    ab: { type: "boolean" },
    cd: { type: "integer" },
    ef: { type: "string", default: "x" },
    gh: { type: "string", default: null },
  };
  const size = (required: readonly string[]): number => declared({ type: "object", properties, required }).minSize;
  assert.equal(size([]), 2);
  assert.equal(size(["ab"]), 2 + 2 + 4 + 4);
  assert.equal(size(["ab", "cd"]), 12 + 2 + 1 + 4);
  assert.equal(size(["ef"]), 2);
  assert.equal(size(["gh"]), 2 + 2 + 2 + 4);
});

test("fields have escaped names; those that cannot be escaped or seen are left out", () => {
  const { fields } = declared({
    type: "object",
    properties: { "a-b": text(), $c: text(), in: text(), d: { "x-kubernetes-preserve-unknown-fields": true } },
  });
  assert.deepEqual([...(fields?.keys() ?? [])], ["a__dash__b", "__in__"]);
});

test("a schema that is nested too deeply is not seen", () => {
  const nested = (depth: number): Schema =>
    depth === 0 ? text() : { type: "array", maxItems: 1, items: nested(depth - 1) };
  assert.notEqual(declare(nested(maxSchemaDepth)), undefined);
  assert.equal(declare(nested(maxSchemaDepth + 1)), undefined);
});

test("a path is followed through fields, elements, values and keys", () => {
  const root = declared({
    type: "object",
    properties: {
      l: { type: "array", maxItems: 3, items: text({ maxLength: 2 }) },
      m: { type: "object", maxProperties: 5, additionalProperties: { type: "object", properties: { a: text() } } },
    },
  });
  const most = (...path: readonly string[]): bigint | undefined => follow(root, path)?.maxElements;
  assert.equal(most(), 0n);
  assert.equal(most("l"), 3n);
  assert.equal(most("l", "@items"), 8n);
  assert.equal(most("m"), 5n);
  assert.equal(most("m", "@keys"), 0n);
  assert.equal(most("m", "@values", "a"), BigInt(longest));
  assert.equal(most("l", "@keys"), undefined);
  assert.equal(most("m", "a"), undefined);
  assert.equal(most("nope", "a"), undefined);
});

test("objects are named by where they stand", () => {
  const { variables, objects } = environmentOf(
    declared({
      type: "object",
      properties: { o: { type: "object", properties: { a: text() } }, l: { type: "array", items: { type: "object" } } },
    }),
    true,
  );
  assert.equal(formatType(variables.get("self") ?? assert.fail()), "selfType1");
  assert.equal(formatType(variables.get("oldSelf") ?? assert.fail()), "optional_type(selfType1)");
  const fieldsOf = (name: string): string[] => [...(objects.get(name)?.keys() ?? assert.fail(name))];
  assert.equal(objects.get("selfType1.o"), undefined, "no expression can name it before it selects the field");
  assert.deepEqual(
    [fieldsOf("selfType1"), fieldsOf("selfType1.l.@idx"), fieldsOf("selfType1.o")],
    [["o", "l"], [], ["a"]],
  );
});
