// SPDX-License-Identifier: Apache-2.0
// Values for schemas: most of them fit, and all of them could have been sent.
import fc from "fast-check";
import type { Loose } from "../harness/loose.ts";

/** How often a part of a value is anything at all instead of what its schema says. */
export interface ValueOptions {
  readonly oddness?: number;
}

const words = fc.constantFrom("", "a", "b", "ab", "abc", "1", "2020-01-02", "1.2.3.4", "YQ==", "10s", "ü€");
const wholes = fc.integer({ min: -3, max: 6 });

const odd: fc.Arbitrary<Loose> = fc.oneof(
  words,
  wholes,
  fc.constantFrom<Loose>(null, true, 1.5, -0.25, 2147483648, 9007199254740993n, [], {}, [1, "a"], { a: 1 }, { zz: {} }),
);

/** Values for a schema. */
export function valuesOf(schema: Loose, options: ValueOptions = {}): fc.Arbitrary<Loose> {
  const { oddness = 0.12 } = options;
  const fitting = fittingValues(schema, options);
  const often = Math.round(100 * (1 - oddness));
  return fc.oneof({ weight: often, arbitrary: fitting }, { weight: 100 - often, arbitrary: odd });
}

function fittingValues(schema: Loose, options: ValueOptions): fc.Arbitrary<Loose> {
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case "string":
      return words;
    case "integer":
      return wholes;
    case "number":
      return fc.oneof(wholes, fc.constantFrom(0.5, 1.5, -2.25, 3e10));
    case "boolean":
      return fc.boolean();
    case "array":
      return fc.array(valuesOf(schema.items ?? {}, options), { maxLength: 3 });
    case "object":
      return objectsOf(schema, options);
    default:
      return schema["x-kubernetes-int-or-string"] ? fc.oneof(words, wholes) : odd;
  }
}

function objectsOf(schema: Loose, options: ValueOptions): fc.Arbitrary<Loose> {
  const properties: Readonly<Record<string, Loose>> = schema.properties ?? {};
  const required: readonly string[] = schema.required ?? [];
  const declared = Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, valuesOf(property, options)]),
  );
  const known = fc.record(declared, { requiredKeys: required.filter((name) => Object.hasOwn(properties, name)) });
  const values = schema.additionalProperties === undefined ? odd : valuesOf(schema.additionalProperties, options);
  const isOpen = schema.additionalProperties !== undefined || schema["x-kubernetes-preserve-unknown-fields"];
  const isOdd = (options.oddness ?? 1) > 0.1;
  const others = fc.dictionary(fc.constantFrom("x", "y", "zz"), values, { maxKeys: isOpen ? 2 : isOdd ? 1 : 0 });
  // Where little is odd the value may become a default: the reference changes those it is to keep.
  const metadata = isOdd ? { name: "n", nope: 1 } : { name: "n" };
  const resource = schema["x-kubernetes-embedded-resource"]
    ? fc.constantFrom({ apiVersion: "v1", kind: "X" }, { apiVersion: "v1", kind: "X", metadata })
    : fc.constant({});
  return fc.tuple(known, others, resource).map(([some, more, type]) => ({ ...more, ...type, ...some }));
}
