// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject } from "../json/json-value.ts";
import { builtinOpenAPI } from "./builtin-openapi.ts";
import {
  componentsOf,
  findSchema,
  inlineReferences,
  inliningLimits,
  isOpenAPIError,
  referenceOf,
  referenceTo,
  referredComponent,
} from "./open-api-document.ts";

const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
const documentOf = (schemas: Record<string, JsonObject>): object => ({ components: { schemas } });
const string = { type: "string" };
const object = { type: "object" };

const cases: Record<string, { reason: string; schemas: Record<string, JsonObject>; want: JsonObject }> = {
  Plain: { reason: "nothing to inline", schemas: { A: { ...object, title: "t" } }, want: { ...object, title: "t" } },
  Property: {
    reason: "properties are followed",
    schemas: { A: { ...object, properties: { b: ref("B"), c: string } }, B: string },
    want: { ...object, properties: { b: string, c: string } },
  },
  Items: {
    reason: "items are followed",
    schemas: { A: { type: "array", items: ref("B") }, B: string },
    want: { type: "array", items: string },
  },
  Values: {
    reason: "additionalProperties are followed when they are a schema",
    schemas: { A: { additionalProperties: ref("B") }, B: { additionalProperties: true } },
    want: { additionalProperties: { additionalProperties: true } },
  },
  AllOf: {
    reason: "allOf with a reference is replaced by the target; siblings are lost",
    schemas: { A: { properties: { b: { allOf: [ref("B")], default: {}, description: "lost" } } }, B: string },
    want: { properties: { b: string } },
  },
  NestedAllOf: {
    reason: "allOf is searched recursively, the first reference wins",
    schemas: {
      A: { properties: { b: { allOf: [{ allOf: [{ title: "x" }, ref("B")] }, ref("C")] } } },
      B: string,
      C: object,
    },
    want: { properties: { b: string } },
  },
  AllOfWithout: {
    reason: "allOf without a reference stays, unread",
    schemas: { A: { allOf: [{ properties: { b: { minLength: 1 } } }] } },
    want: { allOf: [{ properties: { b: { minLength: 1 } } }] },
  },
  OtherKeywords: {
    reason: "anyOf, oneOf and not are not followed",
    schemas: { A: { anyOf: [ref("B")], oneOf: [ref("B")], not: ref("B") }, B: string },
    want: { anyOf: [ref("B")], oneOf: [ref("B")], not: ref("B") },
  },
  Chain: {
    reason: "a component may be a reference itself",
    schemas: { A: ref("B"), B: ref("C"), C: string },
    want: string,
  },
  Self: {
    reason: "a component inside itself is cut",
    schemas: { A: { ...object, properties: { a: ref("A"), b: string } } },
    want: { ...object, properties: { a: object, b: string } },
  },
  Loop: {
    reason: "a longer cycle is cut where it closes",
    schemas: { A: { properties: { b: ref("B") } }, B: { properties: { a: ref("A"), c: string } } },
    want: { properties: { b: { properties: { a: object, c: string } } } },
  },
  AliasOfItself: { reason: "a reference to itself is an object", schemas: { A: ref("A") }, want: object },
  SameTwice: {
    reason: "the same reference on different branches is expanded each time",
    schemas: { A: { properties: { x: ref("B"), y: ref("B") } }, B: { properties: { c: ref("C") } }, C: string },
    want: { properties: { x: { properties: { c: string } }, y: { properties: { c: string } } } },
  },
  CycleFromBothSides: {
    reason: "what a member of a cycle looks like depends on where it is entered",
    schemas: {
      A: { properties: { b: ref("B"), c: ref("C") } },
      B: { properties: { c: ref("C") } },
      C: { properties: { b: ref("B") } },
    },
    want: {
      properties: {
        b: { properties: { c: { properties: { b: object } } } },
        c: { properties: { b: { properties: { c: object } } } },
      },
    },
  },
  BelowACycle: {
    reason: "what is only below a cycle is not cut",
    schemas: { A: { properties: { a: ref("A"), b: ref("B") } }, B: { properties: { c: ref("C") } }, C: string },
    want: { properties: { a: object, b: { properties: { c: string } } } },
  },
  EscapedName: {
    reason: "names in references are JSON pointers",
    schemas: { A: { properties: { b: ref("x~1y~0z") } }, "x/y~z": string },
    want: { properties: { b: string } },
  },
  PropertyNamedRef: {
    reason: "a property may be called $ref",
    schemas: { A: { properties: { $ref: string, allOf: ref("B") } }, B: object },
    want: { properties: { $ref: string, allOf: object } },
  },
  OddMembers: {
    reason: "a value that is not a schema is left alone",
    schemas: { A: { properties: { a: 5, b: null }, items: [string], additionalProperties: false } },
    want: { properties: { a: 5, b: null }, items: [string], additionalProperties: false },
  },
};

for (const [name, { reason, schemas, want }] of Object.entries(cases)) {
  test(`inlineReferences ${name}: ${reason}`, () => {
    assert.deepEqual(inlineReferences(documentOf(schemas), "A"), want);
  });
}

const failures: Record<string, { reason: string; schemas: Record<string, JsonObject>; want: RegExp }> = {
  Missing: {
    reason: "the target is not defined",
    schemas: { A: { items: ref("B") } },
    want: /component A refers to B/,
  },
  MissingRoot: {
    reason: "the component itself is not defined",
    schemas: {},
    want: /refers to A, which is not defined/,
  },
  Inherited: { reason: "Object.prototype has no components", schemas: { A: ref("constructor") }, want: /constructor/ },
  Foreign: {
    reason: "another document",
    schemas: { A: { items: { $ref: "other.json#/x" } } },
    want: /other\.json#\/x/,
  },
};

for (const [name, { reason, schemas, want }] of Object.entries(failures)) {
  test(`inlineReferences fails, ${name}: ${reason}`, () => {
    assert.throws(
      () => inlineReferences(documentOf(schemas), "A"),
      (error) => isOpenAPIError(error) && want.test(error.message),
    );
  });
}

test("a document that would grow without end is refused at once", () => {
  // Each component holds the next one twice: 60 components, 2^60 schemas.
  const schemas = Object.fromEntries(
    Array.from({ length: 60 }, (_, i) => [`C${i}`, { properties: { a: ref(`C${i + 1}`), b: ref(`C${i + 1}`) } }]),
  );
  assert.throws(() => inlineReferences(documentOf({ ...schemas, C60: string }), "C0"), /grows beyond 500000 schemas/);
});

test("components that all refer to each other are refused at once", () => {
  const names = Array.from({ length: 40 }, (_, i) => `C${i}`);
  const properties = Object.fromEntries(names.map((name) => [name, ref(name)]));
  const schemas = Object.fromEntries(names.map((name) => [name, { properties }]));
  assert.throws(() => inlineReferences(documentOf(schemas), "C0"), /grows beyond/);
});

test("a chain deeper than the limit is refused, not a stack overflow", () => {
  const schemas = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`C${i}`, { items: ref(`C${i + 1}`) }]));
  assert.throws(() => inlineReferences(documentOf(schemas), "C0"), new RegExp(`deeper than ${inliningLimits.depth}`));
});

test("parts that are used often are inlined once and shared", () => {
  const schemas = { A: { properties: { x: ref("B"), y: ref("B") } }, B: { properties: { c: ref("C") } }, C: string };
  const { x, y } = inlineReferences(documentOf(schemas), "A")["properties"] as { x: object; y: object };
  assert.equal(x, y);
});

test("inlining changes nothing in the document", () => {
  const document = builtinOpenAPI().document("apis/batch/v1");
  const before = JSON.stringify(document);
  for (const name of Object.keys(componentsOf(document ?? {}))) inlineReferences(document ?? {}, name);
  assert.equal(JSON.stringify(document), before);
});

/** Whether a schema, read where schemas are, still refers to something. */
function refers(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  const { properties, items, additionalProperties, allOf, anyOf, oneOf, not } = schema as Record<string, object>;
  const parts = [
    items,
    additionalProperties,
    not,
    ...[properties, allOf, anyOf, oneOf].flatMap((part) => Object.values(part ?? {})),
  ];
  return typeof (schema as { $ref?: unknown }).$ref === "string" || parts.some(refers);
}

test("no built-in component keeps a reference", () => {
  const documents = builtinOpenAPI();
  for (const key of documents.keys) {
    const document = documents.document(key) ?? {};
    for (const name of Object.keys(componentsOf(document))) {
      assert.ok(!refers(inlineReferences(document, name)), `${name} of ${key}`);
    }
  }
});

test("apps/v1 Deployment is complete: metadata, containers and the schemas of both", () => {
  const document = builtinOpenAPI().document("apis/apps/v1") ?? {};
  const name = findSchema(document, { group: "apps", version: "v1", kind: "Deployment" });
  assert.equal(name, "io.k8s.api.apps.v1.Deployment");
  const text = JSON.stringify(inlineReferences(document, name));
  assert.ok(!text.includes('"$ref"'));
  const { metadata, spec } = JSON.parse(text).properties;
  assert.equal(metadata.properties.labels.additionalProperties.type, "string");
  assert.equal(metadata.properties.managedFields.items.properties.time.format, "date-time");
  const { containers } = spec.properties.template.properties.spec.properties;
  assert.deepEqual(containers["x-kubernetes-list-map-keys"], ["name"]);
  assert.deepEqual(containers.items.properties.imagePullPolicy.enum, ["Always", "IfNotPresent", "Never"]);
  assert.deepEqual(containers.items.required, ["name"]);
});

test("core v1 Pod is in the document api/v1", () => {
  const document = builtinOpenAPI().document("api/v1") ?? {};
  const name = findSchema(document, { group: "", version: "v1", kind: "Pod" });
  assert.equal(name, "io.k8s.api.core.v1.Pod");
  assert.ok(!JSON.stringify(inlineReferences(document, name)).includes('"$ref"'));
});

test("the schema of schemas ends: JSONSchemaProps is cut inside itself", () => {
  const document = builtinOpenAPI().document("apis/apiextensions.k8s.io/v1") ?? {};
  const name = findSchema(document, { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" });
  const schema = JSON.parse(JSON.stringify(inlineReferences(document, name ?? "")));
  const versions = schema.properties.spec.properties.versions.items;
  const { properties } = versions.properties.schema.properties.openAPIV3Schema;
  assert.deepEqual(properties.not, object);
  assert.deepEqual(properties.properties.additionalProperties, object);
  assert.equal(properties.pattern.type, "string");
});

test("any references, inlined without memory, give the same", () => {
  const names = ["A", "B", "C", "D"];
  const target = fc.constantFrom(...names).map(ref);
  const schema = fc.oneof(
    fc.constant(string),
    fc
      .dictionary(fc.constantFrom("x", "y"), target, { maxKeys: 2, noNullPrototype: true })
      .map((properties) => ({ properties })),
    target.map((items) => ({ items })),
    target.map((one) => ({ allOf: [one], default: {} })),
  );
  fc.assert(
    fc.property(fc.tuple(schema, schema, schema, schema), (list) => {
      const schemas = Object.fromEntries(list.map((one, index) => [names[index] ?? "", one as JsonObject]));
      assert.deepEqual(inlineReferences(documentOf(schemas), "A"), expandPlainly(schemas, ref("A"), []));
    }),
    { numRuns: 500 },
  );
});

/** The rule written down without any sharing. */
function expandPlainly(schemas: Record<string, JsonObject>, schema: JsonObject, path: string[]): JsonObject {
  const name = referredComponent(referenceOf(schema) ?? "");
  if (name !== undefined) {
    return path.includes(name) ? object : expandPlainly(schemas, schemas[name] ?? {}, [...path, name]);
  }
  const { properties, items } = schema as { properties?: Record<string, JsonObject>; items?: JsonObject };
  const expanded = Object.entries(properties ?? {}).map(([key, one]) => [key, expandPlainly(schemas, one, path)]);
  return {
    ...schema,
    ...(properties ? { properties: Object.fromEntries(expanded) } : {}),
    ...(items ? { items: expandPlainly(schemas, items, path) } : {}),
  };
}

test("references and component names are opposites", () => {
  fc.assert(fc.property(fc.string(), (name) => assert.equal(referredComponent(referenceTo(name)), name)));
  for (const other of ["#/components/schema/A", "A", "", "http://x#/components/schemas/A"]) {
    assert.equal(referredComponent(other), undefined);
  }
});

test("a huge allOf is searched without recursion", () => {
  const wide = { allOf: [...Array.from({ length: 300_000 }, () => ({})), ref("B")] };
  assert.equal(referenceOf(wide), "#/components/schemas/B");
  let deep: JsonObject = ref("B");
  for (let i = 0; i < 100_000; i++) deep = { allOf: [deep] };
  assert.equal(referenceOf(deep), "#/components/schemas/B");
});
