// SPDX-License-Identifier: Apache-2.0
// Random values, schemas and CustomResourceDefinitions to compare our answers with the reference's. Strings keep to
// characters that every release of Unicode in use agrees about.
import fc, { type Arbitrary } from "fast-check";
import type { JsonValue } from "../../../packages/kube-objects/src/json/index.ts";

type Member = Record<string, Arbitrary<unknown>>;
const some = (members: Member): Arbitrary<Record<string, unknown>> => fc.record(members, { requiredKeys: [] });
const names = ["a", "b", "c"];
const numbers = fc.oneof(
  fc.integer({ min: -5, max: 20 }),
  fc.constantFrom(0.5, 1.5, -0.5, 1_000_000, 3e9, 1e-5, 5.00000000001, 1e19, 1e300, 9007199254740991, 123456789.5),
);
const strings = fc.constantFrom("", "a", "aa", "ab", "A", "é", "😀", "x y", "<&>", "\n", "\u0007", 'a"b', "1");
const scalars = fc.oneof(numbers, strings, fc.boolean(), fc.constant(null));

/** Any value. */
export const values: Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    scalars,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...names, "d", "é"), tie("value"), { maxKeys: 4 }),
  ),
})).value;

const formats = [
  "int32",
  "int64",
  "float",
  "double",
  "date",
  "date-time",
  "byte",
  "ipv4",
  "uri",
  "email",
  "x",
  "duration",
];
const scalarKeywords: Member = {
  type: fc.constantFrom("string", "integer", "number", "boolean", "object", "array"),
  nullable: fc.boolean(),
  format: fc.constantFrom(...formats),
  enum: fc.array(values, { minLength: 1, maxLength: 3 }),
  minimum: numbers,
  maximum: numbers,
  exclusiveMinimum: fc.boolean(),
  exclusiveMaximum: fc.boolean(),
  multipleOf: fc.constantFrom(1, 2, 3, 0.5, 2.5, -1, 0),
  minLength: fc.nat(3),
  maxLength: fc.nat(3),
  pattern: fc.constantFrom("^a", "b$", "[a-z]+", "(", ".", "\\p{L}"),
};

/** Any schema that the reference's type for schemas can hold. */
export const schemas: Arbitrary<unknown> = fc.letrec<{ schema: unknown }>((tie) => {
  const several = fc.array(tie("schema"), { maxLength: 3 });
  const properties = fc.dictionary(fc.constantFrom(...names), tie("schema"), { maxKeys: 3 });
  const counts = { minProperties: fc.nat(3), maxProperties: fc.nat(3), required: fc.subarray(names) };
  return {
    schema: fc.oneof(
      { maxDepth: 4, depthSize: "small" },
      some(scalarKeywords),
      some({ type: fc.constant("object"), properties, ...counts }),
      some({ type: fc.constant("object"), ...counts, additionalProperties: fc.oneof(fc.boolean(), tie("schema")) }),
      some({
        type: fc.constant("array"),
        items: tie("schema"),
        minItems: fc.nat(3),
        maxItems: fc.nat(3),
        uniqueItems: fc.boolean(),
        "x-kubernetes-list-type": fc.constantFrom("set", "map", "atomic"),
        "x-kubernetes-list-map-keys": fc.subarray(names, { minLength: 1 }),
      }),
      some({ "x-kubernetes-int-or-string": fc.constant(true), anyOf: several, minimum: numbers }),
      some({
        type: fc.constantFrom("object", "string"),
        anyOf: several,
        oneOf: several,
        allOf: several,
        not: tie("schema"),
      }),
    ),
  };
}).schema;

/** A value and its schema. The reference checks lists inside objects only, so the root is one. */
export const questions: Arbitrary<{ schema: JsonValue; value: JsonValue }> = fc
  .tuple(schemas, values)
  .map(([schema, value]) => ({
    schema: { type: "object", properties: { a: schema, b: schema } } as JsonValue,
    value: { a: value, b: value } as JsonValue,
  }));

const restrictions = some({
  minimum: fc.integer(),
  maxLength: fc.nat(3),
  pattern: fc.constantFrom("", "^a"),
  required: fc.subarray(names),
  enum: fc.array(scalars, { maxLength: 2 }),
});
const generics: Member = {
  title: fc.constantFrom("", "t"),
  nullable: fc.boolean(),
  default: fc.constantFrom("x", 1, {}, [], { q: [1.5] }, null),
  example: fc.constantFrom("e", { a: 1 }),
  "x-kubernetes-validations": fc.array(
    fc.record(
      {
        rule: fc.constant("true"),
        message: fc.constantFrom("", "m"),
        reason: fc.constant("FieldValueInvalid"),
        fieldPath: fc.constantFrom("", ".a"),
        optionalOldSelf: fc.boolean(),
      },
      { requiredKeys: ["rule"] },
    ),
    { maxLength: 2 },
  ),
};
const eitherType = [{ type: "integer" }, { type: "string" }];

/** Any structural schema. */
const structuralSchemas: Arbitrary<unknown> = fc.letrec<{ schema: unknown }>((tie) => {
  const several = fc.array(restrictions, { maxLength: 2 });
  const composed = { anyOf: several, oneOf: several, allOf: several, not: restrictions };
  const anyMember = fc.constantFrom(...names, "metadata", "kind", "__proto__");
  const properties = fc.dictionary(anyMember, tie("schema"), { maxKeys: 3, noNullPrototype: true });
  const typed = (type: string, members: Member): Arbitrary<unknown> => some(members).map((rest) => ({ type, ...rest }));
  const embedded = { "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true };
  return {
    schema: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      typed("string", { ...generics, ...composed }),
      typed("integer", { ...generics, minimum: numbers, exclusiveMinimum: fc.boolean() }),
      typed("object", { ...generics, properties, "x-kubernetes-map-type": fc.constantFrom("atomic", "granular") }),
      typed("object", { additionalProperties: fc.oneof(fc.boolean(), tie("schema")) }),
      typed("array", { ...generics, maxItems: fc.nat(3) }).chain((list) =>
        tie("schema").map((items) => ({ ...(list as object), items })),
      ),
      fc.constant({ type: "object", ...embedded }),
      some({ anyOf: fc.oneof(several, fc.constant(eitherType)), allOf: several }).map((rest) => ({
        "x-kubernetes-int-or-string": true,
        ...rest,
      })),
    ),
  };
}).schema;

/** A CustomResourceDefinition with one version. */
export const definitions: Arbitrary<JsonValue> = fc.tuple(structuralSchemas, fc.boolean()).map(([spec, hasScale]) => {
  const scale = { specReplicasPath: ".spec.r", statusReplicasPath: ".status.r" };
  const openAPIV3Schema = { type: "object", properties: { spec } };
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.org" },
    spec: {
      group: "example.org",
      scope: "Namespaced",
      names: { plural: "widgets", kind: "Widget", listKind: "WidgetList" },
      versions: [hasScale ? { ...version, subresources: { scale } } : version],
    },
  } as JsonValue;
});
