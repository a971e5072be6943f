// SPDX-License-Identifier: Apache-2.0
// Schemas of all kinds a definition can have, most of them in order.
import fc from "fast-check";
import type { Loose } from "../harness/loose.ts";
import { valuesOf } from "./values.ts";

/** A schema with up to two of the members it may have. */
function withSome(base: Loose, members: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<Loose> {
  const picked = fc.subarray(Object.keys(members), { maxLength: 2 });
  return fc
    .tuple(picked, fc.record(members))
    .map(([names, all]) => ({ ...base, ...Object.fromEntries(names.map((name) => [name, all[name]])) }));
}

const nullable = fc.constant(true);

const texts = withSome(
  { type: "string" },
  {
    minLength: fc.nat(3),
    maxLength: fc.nat(5),
    pattern: fc.constantFrom("^a", "b$", "[0-9]+", "^(a|b)*$", "\\d", "("),
    format: fc.constantFrom("date", "date-time", "uuid", "ipv4", "email", "byte", "uri", "duration", "nope"),
    enum: fc.subarray(["a", "b", "ab", ""], { minLength: 1 }),
    nullable,
  },
);

const bounds = {
  minimum: fc.integer({ min: -2, max: 2 }),
  maximum: fc.integer({ min: -1, max: 5 }),
  multipleOf: fc.constantFrom(1, 2, 0.5, 3),
  exclusiveMinimum: fc.constant(true),
  exclusiveMaximum: fc.constant(true),
  nullable,
};

const integers = withSome(
  { type: "integer" },
  { ...bounds, format: fc.constantFrom("int32", "int64", "double"), enum: fc.subarray([0, 1, 2], { minLength: 1 }) },
);

const numbers = withSome({ type: "number" }, { ...bounds, format: fc.constantFrom("float", "double", "int32") });

const scalars: fc.Arbitrary<Loose> = fc.oneof(
  texts,
  integers,
  numbers,
  fc.constant({ type: "boolean" }),
  fc.constant({ "x-kubernetes-int-or-string": true }),
  fc.constant({ "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] }),
);

/** Keywords for a value besides its structure. */
const said: fc.Arbitrary<Loose> = fc.oneof(
  fc.record({ required: fc.subarray(["a", "b", "c"], { minLength: 1 }) }),
  fc.record({ properties: fc.record({ a: fc.constantFrom({ minimum: 1 }, { maxLength: 1 }, { enum: ["a", 1] }) }) }),
  fc.record({ maxProperties: fc.nat(2) }),
  fc.record({ minimum: fc.integer({ min: -1, max: 2 }) }),
  fc.record({ pattern: fc.constantFrom("^a", "^$") }),
  fc.constantFrom({ type: "string" }, { title: "no" }),
);

function combined(schema: Loose): fc.Arbitrary<Loose> {
  const list = fc.array(said, { minLength: 1, maxLength: 2 });
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant(schema) },
    list.map((allOf) => ({ ...schema, allOf })),
    list.map((anyOf) => ({ ...schema, anyOf })),
    list.map((oneOf) => ({ ...schema, oneOf })),
    said.map((not) => ({ ...schema, not })),
  );
}

/** Defaults that mostly fit: those that do not are refused, in words that have to be the same. */
function maybeDefaulted(schema: Loose): fc.Arbitrary<Loose> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(schema) },
    valuesOf(schema, { oddness: 0.02 }).map((value) => ({ ...schema, default: value })),
  );
}

function lists(items: fc.Arbitrary<Loose>): fc.Arbitrary<Loose> {
  const limits = { minItems: fc.nat(1), maxItems: fc.nat(3), nullable };
  const keyed = fc
    .tuple(fc.constantFrom({ required: ["k"] }, { required: ["k"] }, {}), scalars, maybeDefaultedItems())
    .map(([required, key, more]) => ({ type: "object", ...required, properties: { ...more, k: key } }));
  return fc.oneof(
    items.chain((one) => withSome({ type: "array", items: one }, limits)),
    items.map((one) => ({ type: "array", items: one, "x-kubernetes-list-type": "atomic" })),
    scalars.chain((one) => withSome({ type: "array", items: one, "x-kubernetes-list-type": "set" }, limits)),
    keyed.map((one) => ({
      type: "array",
      items: one,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
    })),
  );
}

function maybeDefaultedItems(): fc.Arbitrary<Loose> {
  return fc.dictionary(fc.constantFrom("a", "b"), scalars.chain(maybeDefaulted), { maxKeys: 2 });
}

function objects(inner: fc.Arbitrary<Loose>): fc.Arbitrary<Loose> {
  const members = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), inner.chain(maybeDefaulted), { maxKeys: 3 });
  const limits = {
    required: fc.subarray(["a", "b"], { minLength: 1 }),
    minProperties: fc.nat(2),
    maxProperties: fc.nat(3),
    nullable,
    "x-kubernetes-preserve-unknown-fields": fc.constant(true),
    "x-kubernetes-map-type": fc.constantFrom("atomic", "granular"),
  };
  return fc.oneof(
    { weight: 4, arbitrary: members.chain((properties) => withSome({ type: "object", properties }, limits)) },
    inner.chain((additionalProperties) => withSome({ type: "object", additionalProperties }, limits)),
    fc.constantFrom(
      { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      { "x-kubernetes-preserve-unknown-fields": true },
      { type: "object", additionalProperties: true },
      { type: "object", additionalProperties: false },
      { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
      { type: "object" },
    ),
  );
}

/** Rules for values of a type; some are about other types, some about what was before. */
const rules: Readonly<Record<string, readonly string[]>> = {
  string: ["self.startsWith('a')", "size(self) > 1", "self != oldSelf", "self > 1"],
  integer: ["self > 0", "self >= oldSelf", "self in [1, 2, 3]", "self / 0 == 1", "self == 'a'"],
  number: ["self > 0.5", "self < 3.0", "self == 1"],
  boolean: ["self", "!self || oldSelf"],
  array: ["size(self) < 2", "self.all(x, x == x)", "self.exists(x, type(x) == int)", "self == oldSelf"],
  object: ["has(self.a)", "!has(self.b) || has(self.a)", "self == oldSelf", "size(self) < 2", "self.a == self.b"],
};

function maybeRuled(schema: Loose): fc.Arbitrary<Loose> {
  const known = rules[schema.type] ?? ["true", "self == 1"];
  const rule = fc.record<Loose>(
    {
      rule: fc.constantFrom(...known),
      message: fc.constantFrom("not so", "two\nlines", " "),
      messageExpression: fc.constantFrom("'said by an expression'", "self"),
      reason: fc.constantFrom("FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate", "Nope"),
      fieldPath: fc.constantFrom(".a", ".nope", "a"),
      optionalOldSelf: fc.boolean(),
    },
    { requiredKeys: ["rule"] },
  );
  // Most have a rule alone: each of the other members may be refused by itself.
  const plain = fc.constantFrom(...known).map((text) => ({ rule: text }));
  const some = fc.array(fc.oneof({ weight: 5, arbitrary: plain }, rule), { minLength: 1, maxLength: 2 });
  return fc.oneof(
    { weight: 4, arbitrary: fc.constant(schema) },
    some.map((list) => ({ ...schema, "x-kubernetes-validations": list })),
  );
}

/** Schemas nested up to a depth. */
export function schemas(depth: number): fc.Arbitrary<Loose> {
  if (depth === 0) return scalars;
  const inner = fc.oneof({ weight: 2, arbitrary: scalars }, schemas(depth - 1));
  return fc
    .oneof(scalars, lists(inner), { weight: 2, arbitrary: objects(inner) })
    .chain(combined)
    .chain(maybeRuled);
}
