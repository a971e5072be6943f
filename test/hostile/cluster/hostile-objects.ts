// SPDX-License-Identifier: Apache-2.0
// Objects that users of a cluster may write, as large and odd as its API server takes them.
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { xrType } from "../answers/attacked-plane.ts";

const some = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

function nested(levels: number): JsonObject {
  let value: JsonObject = { leaf: 1 };
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
}

const reference = (i: number) => ({ apiVersion: "v1", kind: "ConfigMap", name: `none-${i}`, namespace: "default" });

/**
 * Specs of XRs, by name. All of them are honest to their function. The numbers are those that the real API server takes within a second: it
 * needs half a minute for 20,000 members.
 */
export const hostileSpecs: Readonly<Record<string, JsonObject>> = {
  "text-of-a-megabyte": { text: "x".repeat(1_000_000) },
  "list-of-100000": { list: some(100_000, (i) => i) },
  "members-3000": { map: Object.fromEntries(some(3_000, (i) => [`k${i}`, { v: i }])) },
  "nested-80-levels": { deep: nested(80) },
  "odd-names": JSON.parse(
    '{"__proto__":{"a":1},"constructor":{"prototype":{"b":2}},"toString":"x","":""}',
  ) as JsonObject,
  "references-2000": { crossplane: { resourceRefs: some(2_000, reference) } },
  "references-of-unserved-kinds": {
    crossplane: { resourceRefs: some(200, (i) => ({ apiVersion: `g${i}.example.org/v1`, kind: "K", name: "x" })) },
  },
  "composition-that-is-missing": { crossplane: { compositionRef: { name: "x".repeat(200) } } },
};

/** A definition with a schema. */
function definition(plural: string, spec: JsonObject): KubeObject {
  const openAPIV3Schema = { type: "object", properties: { spec } };
  return {
    apiVersion: "apiextensions.crossplane.io/v2",
    kind: "CompositeResourceDefinition",
    metadata: { name: `${plural}.test.example.org` },
    spec: {
      group: "test.example.org",
      scope: "Cluster",
      names: { kind: `K${plural}`, plural },
      versions: [{ name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema } }],
    },
  };
}

function deepSchema(levels: number): JsonObject {
  let schema: JsonObject = { type: "string" };
  for (let level = 0; level < levels; level++) schema = { type: "object", properties: { a: schema } };
  return schema;
}

/** Definitions by name. */
export const hostileDefinitions: Readonly<Record<string, KubeObject>> = {
  "a schema with 2,000 properties": definition("wides", {
    type: "object",
    properties: Object.fromEntries(some(2_000, (i) => [`p${i}`, { type: "string", description: "x".repeat(40) }])),
  }),
  "a schema of 100 levels": definition("deeps", deepSchema(100)),
  "a rule that does not compile": definition("rules", {
    type: "object",
    "x-kubernetes-validations": [{ rule: "self.".repeat(5_000) }],
  }),
  "a pattern that is not one": definition("patterns", {
    type: "object",
    properties: { p: { type: "string", pattern: `${"(a*)*".repeat(2_000)}(` } },
  }),
  "no type": definition("untypeds", { properties: { a: {} } }),
};

/** Compositions by name. */
export const hostileCompositions: Readonly<Record<string, JsonObject>> = {
  "99 steps": { pipeline: some(99, (i) => ({ step: `s${i}`, functionRef: { name: "fn" } })) },
  "an input of a megabyte": {
    pipeline: [
      {
        step: "large",
        functionRef: { name: "fn" },
        input: { apiVersion: "a/v1", kind: "Input", text: "x".repeat(1_000_000) },
      },
    ],
  },
  "a function that is missing": { pipeline: [{ step: "s", functionRef: { name: "missing" } }] },
};

/** A Composition for attacks, with a name that no XR has by chance. */
export function compositionOf(name: string, spec: JsonObject): KubeObject {
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name },
    spec: { compositeTypeRef: xrType, mode: "Pipeline", ...spec },
  };
}
