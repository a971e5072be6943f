// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { finish, inTurns } from "@purlin/base";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import {
  componentOf,
  isDefaulted,
  isUnion,
  shapeOf,
  type TypeContext,
  TypeTooLargeError,
  type TypeUse,
  typeText,
} from "./type-text.ts";

function contextOf(use: TypeUse, isCustom: boolean): TypeContext {
  const known: Readonly<Record<string, string>> = { "io.k8s.Time": "meta.Time" };
  return { use, isCustom, metadata: "meta.ObjectMeta", componentType: (name) => known[name] };
}

function textOf(schema: JsonObject, use: TypeUse = "written", isCustom = true): string {
  return finish(typeText([{ schema, indent: 0, depth: 0 }], contextOf(use, isCustom)));
}

interface Case {
  readonly schema: JsonObject;
  readonly text: string;
  /** Where it differs from what is written. */
  readonly observed?: string;
  /** Where it differs in built-in kinds. */
  readonly builtin?: string;
}

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "object", properties, ...more });
const text: JsonObject = { type: "string" };

const cases: Readonly<Record<string, Case>> = {
  String: { schema: text, text: "string" },
  FormattedString: { schema: { type: "string", format: "byte" }, text: "string" },
  Integer: { schema: { type: "integer", format: "int64" }, text: "number" },
  Number: { schema: { type: "number" }, text: "number" },
  Boolean: { schema: { type: "boolean" }, text: "boolean" },
  Nothing: { schema: {}, text: "unknown" },
  AnyValue: { schema: { "x-kubernetes-preserve-unknown-fields": true }, text: "unknown" },
  UnknownType: { schema: { type: "file" }, text: "unknown" },
  Nullable: { schema: { type: "string", nullable: true }, text: "string | null" },
  NullableAnything: { schema: { nullable: true }, text: "unknown" },
  Enum: { schema: { type: "string", enum: ["a", 'b"c', ""] }, text: '"a" | "b\\"c" | ""' },
  EnumOfSeparators: { schema: { enum: ["\u2028"] }, text: '"\\u2028"' },
  EnumTwice: { schema: { type: "string", enum: ["a", "a"] }, text: '"a"' },
  NumberEnum: { schema: { type: "number", enum: [1, -2.5, 1e21] }, text: "1 | -2.5 | 1e+21" },
  LargeIntegerEnum: { schema: { type: "integer", enum: [9_007_199_254_740_993n] }, text: "number" },
  BooleanEnum: { schema: { type: "boolean", enum: [true] }, text: "true" },
  NullableEnum: { schema: { type: "string", enum: ["a", null], nullable: true }, text: '"a" | null' },
  ObjectEnum: {
    schema: { type: "object", enum: [{}] },
    text: "{ [key: string]: never }",
    builtin: "{ [key: string]: unknown }",
  },
  LongEnum: { schema: { type: "string", enum: Array.from({ length: 1001 }, (_, n) => `v${n}`) }, text: "string" },
  IntOrString: {
    schema: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, text] },
    text: "number | string",
  },
  OneOfTypes: { schema: { oneOf: [text, { type: "number" }] }, text: "string | number" },
  OneOfMore: { schema: { oneOf: [text, { type: "object" }] }, text: "unknown" },
  List: { schema: { type: "array", items: text }, text: "string[]" },
  ListOfLists: { schema: { type: "array", items: { type: "array", items: text } }, text: "string[][]" },
  ListOfUnions: { schema: { type: "array", items: { enum: ["a", "b"] } }, text: '("a" | "b")[]' },
  ListOfNullable: { schema: { type: "array", items: { type: "string", nullable: true } }, text: "(string | null)[]" },
  ListOfAnything: { schema: { type: "array" }, text: "unknown[]" },
  Map: { schema: { type: "object", additionalProperties: text }, text: "{ [key: string]: string }" },
  MapOfMaps: {
    schema: { type: "object", additionalProperties: { type: "object", additionalProperties: { type: "integer" } } },
    text: "{ [key: string]: { [key: string]: number } }",
  },
  FreeMap: { schema: { type: "object", additionalProperties: true }, text: "{ [key: string]: unknown }" },
  PreservedObject: {
    schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    text: "{ [key: string]: unknown }",
  },
  EmptyObject: {
    schema: { type: "object" },
    text: "{ [key: string]: never }",
    builtin: "{ [key: string]: unknown }",
  },
  RequiredAndOptional: {
    schema: object({ a: text, b: text }, { required: ["a"] }),
    text: "{\n  a: string;\n  b?: string;\n}",
  },
  ObjectWithoutType: { schema: { properties: { a: text } }, text: "{\n  a?: string;\n}" },
  OpenObject: {
    schema: object({ a: text }, { "x-kubernetes-preserve-unknown-fields": true }),
    text: "{\n  a?: string;\n  [key: string]: unknown;\n}",
  },
  Default: {
    schema: object({ a: { type: "string", default: "x" } }),
    text: '{\n  /** @default "x" */\n  a?: string;\n}',
    observed: '{\n  /** @default "x" */\n  a: string;\n}',
    builtin: "{\n  a?: string;\n}",
  },
  RequiredDefault: {
    schema: object({ a: { type: "integer", default: 0 } }, { required: ["a"] }),
    text: "{\n  /** @default 0 */\n  a?: number;\n}",
    observed: "{\n  /** @default 0 */\n  a: number;\n}",
    builtin: "{\n  a: number;\n}",
  },
  EmbeddedResource: {
    schema: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
    text: "{\n  apiVersion: string;\n  kind: string;\n  metadata?: meta.ObjectMeta;\n  [key: string]: unknown;\n}",
  },
  OddNames: {
    schema: object({ "a-b": text, "1": text, "": text, class: text, 'q"': text, $ok: text }),
    text: '{\n  "1"?: string;\n  "a-b"?: string;\n  ""?: string;\n  class?: string;\n  "q\\""?: string;\n  $ok?: string;\n}',
  },
  Description: {
    schema: object({ a: { type: "string", description: "One.\n\nTwo ends */ here.\u0007 \r\n" } }),
    text: "{\n  /**\n   * One.\n   *\n   * Two ends *\\/ here.\n   */\n  a?: string;\n}",
  },
  DescriptionAndDefault: {
    schema: object({ a: { type: "string", description: "One.", default: "*/" } }),
    text: '{\n  /**\n   * One.\n   * @default "*\\/"\n   */\n  a?: string;\n}',
    observed: '{\n  /**\n   * One.\n   * @default "*\\/"\n   */\n  a: string;\n}',
    builtin: "{\n  /** One. */\n  a?: string;\n}",
  },
  Nested: {
    schema: object({ a: { type: "array", items: object({ b: text }) } }),
    text: "{\n  a?: {\n    b?: string;\n  }[];\n}",
  },
  Reference: { schema: { allOf: [{ $ref: "#/components/schemas/io.k8s.Time" }], default: {} }, text: "meta.Time" },
  UnknownReference: { schema: { $ref: "#/components/schemas/nope" }, text: "unknown" },
  Malformed: {
    schema: { type: "object", properties: { a: 1 as JsonValue }, required: "a" },
    text: "{\n  a?: unknown;\n}",
  },
};

for (const [name, { schema, text: written, observed = written, builtin = written }] of Object.entries(cases)) {
  test(`types: ${name}`, () => {
    assert.equal(textOf(schema), written, "written");
    assert.equal(textOf(schema, "observed"), observed, "observed");
    assert.equal(textOf(schema, "written", false), builtin, "built-in");
  });
}

/** Schemas inside each other. */
function nested(levels: number, wrap: (inner: JsonObject) => JsonObject): JsonObject {
  let schema: JsonObject = { type: "string" };
  for (let level = 0; level < levels; level++) schema = wrap(schema);
  return schema;
}

const wraps: Readonly<Record<string, (inner: JsonObject) => JsonObject>> = {
  properties: (inner) => object({ a: inner }),
  items: (inner) => ({ type: "array", items: inner }),
  maps: (inner) => ({ type: "object", additionalProperties: inner }),
};
for (const [name, wrap] of Object.entries(wraps)) {
  test(`schemas that are nested too deeply end in unknown: ${name}`, () => {
    assert.match(textOf(nested(90, wrap)), /string/);
    const deep = textOf(nested(5000, wrap));
    assert.doesNotMatch(deep, /\bstring\b(?!\])/);
    assert.match(deep, /unknown/);
    assert.ok(deep.length < 100_000);
  });
}

test("types that share parts many times over are refused instead of filling the memory", () => {
  const wide = nested(40, (inner) => object({ a: inner, b: inner }));
  assert.throws(() => textOf(wide), TypeTooLargeError);
});

test("a huge schema leaves room for other work", async () => {
  const properties = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`field${n}`, object({ a: text })]));
  let turns = 0;
  const count = (): void => {
    turns++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const context = contextOf("written", true);
  await inTurns(typeText([{ schema: object(properties), indent: 0, depth: 0 }], context));
  clearImmediate(timer);
  assert.ok(turns >= 2, `${turns} turns`);
});

const texts = (schema: JsonObject): readonly string[] | string => {
  const { value } = shapeOf(schema);
  return value.is === "alternatives" ? value.texts : value.is;
};

test("types of JSON are those of TypeScript", () => {
  assert.deepEqual(
    ["string", "integer", "number", "boolean"].map((type) => texts({ type })),
    [["string"], ["number"], ["number"], ["boolean"]],
  );
  assert.deepEqual(texts({ "x-kubernetes-int-or-string": true }), ["number", "string"]);
  assert.deepEqual(texts({}), ["unknown"]);
  assert.deepEqual(texts({ type: "unheard" }), ["unknown"]);
});

test("an enum is a union of literals, each once", () => {
  assert.deepEqual(texts({ type: "string", enum: ["a", 'b"', "a"] }), ['"a"', '"b\\""']);
  assert.deepEqual(texts({ enum: [1, -2.5, true, null] }), ["1", "-2.5", "true", "null"]);
  assert.deepEqual(texts({ type: "integer", enum: [9007199254740993n, 1] }), ["number", "1"]);
  assert.deepEqual(texts({ type: "string", enum: [] }), ["string"]);
  assert.deepEqual(texts({ type: "object", enum: [{ a: 1 }] }), "object", "an object has no literal");
});

test("an enum of more than a thousand values is its type", () => {
  const values = (length: number): number[] => Array.from({ length }, (_, at) => at);
  assert.equal(texts({ type: "integer", enum: values(1000) }).length, 1000);
  assert.deepEqual(texts({ type: "integer", enum: values(1001) }), ["number"]);
});

test("nullable values take null as well, unless they do already", () => {
  assert.equal(shapeOf({ type: "string", nullable: true }).isNullable, true);
  assert.equal(shapeOf({ type: "string" }).isNullable, false);
  assert.equal(shapeOf({ enum: ["a", null], nullable: true }).isNullable, false);
  assert.equal(shapeOf({ nullable: true }).isNullable, false, "unknown has null already");
  assert.equal(shapeOf({ type: "object", properties: { a: {} }, nullable: true }).isNullable, true);
});

test("a union needs parentheses", () => {
  assert.ok(isUnion(shapeOf({ enum: ["a", "b"] })));
  assert.ok(isUnion(shapeOf({ type: "string", nullable: true })));
  assert.ok(!isUnion(shapeOf({ enum: ["a"] })));
  assert.ok(!isUnion(shapeOf({ type: "array", items: {} })));
});

test("lists and maps have the schema of their values", () => {
  assert.deepEqual(shapeOf({ type: "array", items: { type: "string" } }).value, {
    is: "list",
    items: { type: "string" },
  });
  assert.deepEqual(shapeOf({ type: "array" }).value, { is: "list", items: undefined });
  assert.deepEqual(shapeOf({ type: "object", additionalProperties: { type: "string" } }).value, {
    is: "map",
    values: { type: "string" },
  });
  assert.deepEqual(shapeOf({ type: "object", additionalProperties: true }).value, { is: "map", values: undefined });
  assert.deepEqual(shapeOf({ type: "object", "x-kubernetes-preserve-unknown-fields": true }).value, {
    is: "map",
    values: undefined,
  });
});

test("an object has its members: required, defaulted, and schemas that are wrong count as empty", () => {
  const schema = { type: "object", required: ["a"], properties: { a: { type: "string" }, b: { default: 0 }, c: true } };
  assert.deepEqual(shapeOf(schema).value, {
    ...{ is: "object", isOpen: false, isResource: false },
    members: [
      { name: "a", schema: { type: "string" }, isRequired: true, isDefaulted: false },
      { name: "b", schema: { default: 0 }, isRequired: false, isDefaulted: true },
      { name: "c", schema: {}, isRequired: false, isDefaulted: false },
    ],
  });
  assert.deepEqual(shapeOf({ type: "object" }).value, { is: "object", members: [], isOpen: false, isResource: false });
  assert.deepEqual(
    [isDefaulted({ default: false }), isDefaulted({ default: null }), isDefaulted({})],
    [true, false, false],
  );
});

test("an object may be open, or a Kubernetes object inside another one", () => {
  const open = (more: JsonObject): unknown[] => {
    const { value } = shapeOf({ type: "object", properties: { a: {} }, ...more });
    return value.is === "object" ? [value.isOpen, value.isResource] : [];
  };
  assert.deepEqual(open({}), [false, false]);
  assert.deepEqual(open({ "x-kubernetes-preserve-unknown-fields": true }), [true, false]);
  assert.deepEqual(open({ additionalProperties: { type: "string" } }), [true, false]);
  assert.deepEqual(open({ additionalProperties: false }), [false, false]);
  assert.deepEqual(open({ "x-kubernetes-embedded-resource": true }), [false, true]);
  assert.equal(shapeOf({ "x-kubernetes-embedded-resource": true }).value.is, "object");
  assert.equal(shapeOf({ properties: { a: {} } }).value.is, "object", "properties without a type");
});

test("oneOf lists the types of a value that has none itself", () => {
  assert.deepEqual(texts({ oneOf: [{ type: "string" }, { type: "integer" }, { type: "number" }] }), [
    "string",
    "number",
  ]);
  assert.deepEqual(texts({ oneOf: [{ type: "string" }, { type: "object", properties: { a: {} } }] }), ["unknown"]);
  assert.deepEqual(texts({ oneOf: ["wrong"] }), ["unknown"]);
  assert.deepEqual(texts({ oneOf: [{ oneOf: [{ type: "string" }] }] }), ["unknown"], "one level only");
  assert.deepEqual(texts({ type: "string", oneOf: [{ type: "integer" }] }), ["string"]);
});

test("a reference is a component, by itself or as the only one of allOf", () => {
  const $ref = "#/components/schemas/io.k8s.api.core.v1.Pod";
  assert.deepEqual(shapeOf({ $ref, type: "object" }).value, { is: "component", name: "io.k8s.api.core.v1.Pod" });
  assert.equal(componentOf({ allOf: [{ $ref }] }), "io.k8s.api.core.v1.Pod");
  assert.equal(componentOf({ allOf: [{ $ref }, { type: "object" }] }), undefined);
  assert.equal(componentOf({ allOf: [] }), undefined);
  assert.equal(componentOf({}), undefined);
});
