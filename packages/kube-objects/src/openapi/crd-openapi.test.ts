// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { isJsonObject, type JsonObject } from "../json/json-value.ts";
import { builtinOpenAPI } from "./builtin-openapi.ts";
import { crdToOpenAPI, customResourceComponent, publishSchema } from "./crd-openapi.ts";
import { findSchema, inlineReferences, mergeOpenAPI } from "./open-api-document.ts";

interface Recorded {
  readonly reason: string;
  readonly crd: JsonObject;
  /** By version: the custom resource's own components, and the names of the others. */
  readonly documents: Readonly<Record<string, { readonly own: JsonObject; readonly others: readonly string[] }>>;
}

const recordedUrl = new URL("./testdata/crd-documents.jsonl", import.meta.url);
const [, ...recorded] = readFileSync(recordedUrl, "utf8").trimEnd().split("\n");

for (const line of recorded) {
  const { reason, crd, documents } = JSON.parse(line) as Recorded;
  test(`published as by the reference server: ${reason}`, () => {
    const group = (crd["spec"] as { group: string }).group;
    const published = crdToOpenAPI(crd);
    assert.deepEqual(
      [...published.keys()].sort(),
      Object.keys(documents)
        .map((version) => `apis/${group}/${version}`)
        .sort(),
    );
    for (const [version, { own, others }] of Object.entries(documents)) {
      const schemas = published.get(`apis/${group}/${version}`)?.components.schemas ?? {};
      const names = Object.keys(schemas);
      assert.deepEqual(names.filter((name) => !Object.hasOwn(own, name)).sort(), others);
      for (const [name, schema] of Object.entries(own)) assert.deepEqual(withoutStandardTexts(schemas[name]), schema);
    }
  });
}

const untouched = new Set(["default", "externalDocs"]);

// The recording has no descriptions; ours has only those that the author of the CRD wrote.
function withoutStandardTexts(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutStandardTexts);
  if (!isJsonObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([key, value]) => key !== "description" || typeof value !== "string");
  return Object.fromEntries(
    kept.map(([key, value]) => [key, untouched.has(key) ? value : withoutStandardTexts(value)]),
  );
}

const crdOf = (schema: JsonObject | undefined, more: JsonObject = {}): JsonObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.org" },
  spec: {
    group: "example.org",
    names: { kind: "Widget", plural: "widgets" },
    versions: [
      { name: "v1", served: true, storage: true, ...(schema ? { schema: { openAPIV3Schema: schema } } : {}), ...more },
    ],
  },
});
const widget = { group: "example.org", version: "v1", kind: "Widget" };

test("the kind and its list are found, inlined and described", () => {
  const spec = { type: "object", description: "what is wanted", properties: { size: { type: "integer" } } };
  const document = crdToOpenAPI(crdOf({ type: "object", properties: { spec } })).get("apis/example.org/v1");
  assert.ok(document);
  assert.deepEqual(document.info, { title: "Kubernetes CRD Swagger", version: "v0.1.0" });
  assert.equal(findSchema(document, widget), "org.example.v1.Widget");
  assert.equal(findSchema(document, { ...widget, kind: "WidgetList" }), "org.example.v1.WidgetList");
  const inlined = JSON.parse(JSON.stringify(inlineReferences(document, "org.example.v1.Widget")));
  assert.equal(inlined.properties.metadata.properties.name.type, "string");
  assert.equal(inlined.properties.spec.description, "what is wanted");
});

test("names have the group reversed", () => {
  assert.equal(
    customResourceComponent({ group: "nop.crossplane.io", version: "v1alpha1", kind: "NopResource" }),
    "io.crossplane.nop.v1alpha1.NopResource",
  );
});

test("a version without a schema names no property, so that nothing is unknown", () => {
  const document = crdToOpenAPI(crdOf(undefined)).get("apis/example.org/v1");
  assert.deepEqual(document?.components.schemas["org.example.v1.Widget"], {
    type: "object",
    "x-kubernetes-group-version-kind": [{ group: "example.org", kind: "Widget", version: "v1" }],
  });
});

test("the author's own apiVersion, kind and metadata give way", () => {
  const properties = {
    apiVersion: { type: "string", pattern: "x" },
    metadata: { type: "object", properties: { name: { maxLength: 3 } } },
  };
  const document = crdToOpenAPI(crdOf({ type: "object", properties })).get("apis/example.org/v1");
  const published = document?.components.schemas["org.example.v1.Widget"]?.["properties"] as JsonObject;
  assert.deepEqual(published["apiVersion"], { type: "string" });
  assert.deepEqual(published["metadata"], {
    allOf: [{ $ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" }],
  });
});

test("scale brings the kind of scale", () => {
  const scale = "io.k8s.api.autoscaling.v1.Scale";
  const withScale = crdToOpenAPI(crdOf({ type: "object" }, { subresources: { scale: {} } })).get("apis/example.org/v1");
  const without = crdToOpenAPI(crdOf({ type: "object" })).get("apis/example.org/v1");
  assert.ok(withScale?.components.schemas[scale]);
  assert.ok(without && !(scale in without.components.schemas));
});

test("a kind merged into a built-in group-version is found beside the built-in ones", () => {
  const builtin = builtinOpenAPI().document("apis/apps/v1");
  const custom = crdToOpenAPI(crdOf({ type: "object" })).get("apis/example.org/v1");
  assert.ok(builtin && custom);
  const merged = mergeOpenAPI(builtin, custom);
  assert.equal(findSchema(merged, widget), "org.example.v1.Widget");
  assert.equal(
    findSchema(merged, { group: "apps", version: "v1", kind: "Deployment" }),
    "io.k8s.api.apps.v1.Deployment",
  );
});

test("the definition is not changed, and any JSON in its place is published or refused by name", () => {
  const schema = fc.oneof(
    fc.object({ maxDepth: 4 }),
    fc.dictionary(fc.constantFrom("properties", "items", "allOf", "not"), fc.jsonValue()),
  );
  fc.assert(
    fc.property(schema, (openAPIV3Schema) => {
      const crd = crdOf(openAPIV3Schema as JsonObject);
      const before = JSON.stringify(crd);
      const document = crdToOpenAPI(crd).get("apis/example.org/v1");
      assert.equal(JSON.stringify(crd), before);
      inlineReferences(document ?? {}, "org.example.v1.Widget");
    }),
  );
});

test("property names of JavaScript's own are only names", () => {
  const schema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"integer"}}}',
  );
  const document = crdToOpenAPI(crdOf(schema)).get("apis/example.org/v1");
  const properties = inlineReferences(document ?? {}, "org.example.v1.Widget")["properties"] as JsonObject;
  assert.deepEqual(Object.getOwnPropertyDescriptor(properties, "__proto__")?.value, { type: "string" });
  assert.deepEqual(properties["constructor"], { type: "integer" });
});

const either = [{ type: "integer" }, { type: "string" }];
const intOrString = { "x-kubernetes-int-or-string": true };

const rows: Record<string, { reason: string; schema: JsonObject; want: JsonObject }> = {
  Kept: {
    reason: "schemas of the server",
    schema: {
      type: "string",
      description: "d",
      title: "t",
      format: "date",
      pattern: "x",
      minLength: 0,
      enum: ["a"],
      default: "a",
      nullable: true,
    },
    want: {
      type: "string",
      description: "d",
      title: "t",
      format: "date",
      pattern: "x",
      minLength: 0,
      enum: ["a"],
      default: "a",
      nullable: true,
    },
  },
  Unknown: {
    reason: "what it does not",
    schema: { type: "string", readOnly: true, "x-mine": 1, $ref: "#/x", id: "x" },
    want: { type: "string" },
  },
  Empty: {
    reason: "an empty schema",
    schema: {
      type: "",
      description: "",
      nullable: false,
      required: [],
      enum: [],
      properties: {},
      allOf: [],
      default: null,
      uniqueItems: false,
    },
    want: {},
  },
  WrongForms: {
    reason: "what is malformed",
    schema: {
      type: 5,
      minimum: "1",
      required: "a",
      properties: { a: 5 },
      items: [{}],
      additionalProperties: "x",
      not: [],
      enum: {},
    },
    want: {},
  },
  Nested: {
    reason: "schemas in schemas",
    schema: {
      properties: { a: { items: { type: "string", x: 1 } } },
      additionalProperties: { additionalProperties: false },
    },
    want: { properties: { a: { items: { type: "string" } } }, additionalProperties: { additionalProperties: false } },
  },
  Restrictions: {
    reason: "a restriction specifies no further members",
    schema: {
      anyOf: [{ properties: { a: { minimum: 1 } }, additionalProperties: { type: "string" } }],
      not: { items: { maximum: 1 } },
    },
    want: { anyOf: [{ properties: { a: { minimum: 1 } } }], not: { items: { maximum: 1 } } },
  },
  Extensions: {
    reason: "the server's own extensions",
    schema: {
      "x-kubernetes-preserve-unknown-fields": true,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      "x-kubernetes-map-type": "atomic",
      "x-kubernetes-embedded-resource": false,
      "x-kubernetes-patch-strategy": "merge",
    },
    want: {
      "x-kubernetes-preserve-unknown-fields": true,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      "x-kubernetes-map-type": "atomic",
    },
  },
  Rules: {
    reason: "rules without their empty members",
    schema: {
      "x-kubernetes-validations": [{ rule: "true", message: "", fieldPath: ".a", optionalOldSelf: false, other: 1 }],
    },
    want: { "x-kubernetes-validations": [{ rule: "true", fieldPath: ".a", optionalOldSelf: false }] },
  },
  IntOrString: { reason: "spelled out", schema: intOrString, want: { ...intOrString, anyOf: either } },
  IntOrStringAlready: {
    reason: "not twice",
    schema: { ...intOrString, anyOf: either },
    want: { ...intOrString, anyOf: either },
  },
  IntOrStringInAllOf: {
    reason: "nor when the first of allOf does",
    schema: { ...intOrString, allOf: [{ anyOf: either }, { minimum: 1 }] },
    want: { ...intOrString, allOf: [{ anyOf: either }, { minimum: 1 }] },
  },
  IntOrStringBesideAnyOf: {
    reason: "in allOf when anyOf is taken",
    schema: { ...intOrString, anyOf: [{ minimum: 1 }], allOf: [{ maximum: 5 }] },
    want: { ...intOrString, anyOf: [{ minimum: 1 }], allOf: [{ anyOf: either }, { maximum: 5 }] },
  },
};

for (const [name, { reason, schema, want }] of Object.entries(rows)) {
  test(`publishSchema ${name}: ${reason}`, () => {
    const before = JSON.stringify(schema);
    assert.deepEqual(publishSchema(schema), want);
    assert.equal(JSON.stringify(schema), before);
  });
}
