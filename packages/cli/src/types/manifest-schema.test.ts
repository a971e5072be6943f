// SPDX-License-Identifier: Apache-2.0
// Whether a validator accepts and refuses manifests by this schema is tested in test/interop/platform-init.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { projectFileFields, readProjectFile } from "../project/project-file.ts";
import type { CustomKind } from "./custom-module.ts";
import { projectSchema } from "./generate-types.ts";
import { manifestSchema, toJsonSchema } from "./manifest-schema.ts";

const context = { metadata: "#/definitions/meta", isCustom: true };

interface Case {
  readonly schema: JsonObject;
  readonly json: JsonObject;
}

const cases: Readonly<Record<string, Case>> = {
  Plain: {
    schema: { type: "string", description: "a", minLength: 1, pattern: "^a$", "x-kubernetes-validations": [] },
    json: { description: "a", minLength: 1, type: "string", pattern: "^a$" },
  },
  PatternOfGo: { schema: { type: "string", pattern: "(?i)a(?P<b>c)" }, json: { type: "string" } },
  Formats: {
    schema: {
      type: "object",
      properties: { a: { type: "integer", format: "int32" }, b: { type: "string", format: "date-time" } },
    },
    json: {
      type: "object",
      properties: { a: { type: "integer" }, b: { type: "string", format: "date-time" } },
      additionalProperties: false,
    },
  },
  Nullable: {
    schema: { type: "string", nullable: true, enum: ["a"] },
    json: { type: ["string", "null"], enum: ["a", null] },
  },
  IntOrString: { schema: { "x-kubernetes-int-or-string": true }, json: { type: ["integer", "string"] } },
  OneOfTypes: { schema: { oneOf: [{ type: "string" }, { type: "number" }] }, json: { type: ["string", "number"] } },
  ExclusiveLimits: {
    schema: { type: "number", minimum: 1, exclusiveMinimum: true, maximum: 5 },
    json: { maximum: 5, type: "number", exclusiveMinimum: 1 },
  },
  DefaultsAreNotRequired: {
    schema: {
      type: "object",
      required: ["a", "b"],
      properties: { a: { type: "string", default: "x" }, b: { type: "string" } },
    },
    json: {
      type: "object",
      properties: { a: { default: "x", type: "string" }, b: { type: "string" } },
      additionalProperties: false,
      required: ["b"],
    },
  },
  Map: {
    schema: { type: "object", additionalProperties: { type: "string" } },
    json: { type: "object", additionalProperties: { type: "string" } },
  },
  Preserved: { schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true }, json: { type: "object" } },
  Pruned: { schema: { type: "object" }, json: { type: "object", additionalProperties: false } },
  Embedded: {
    schema: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
    json: {
      type: "object",
      properties: {
        apiVersion: { type: "string" },
        kind: { type: "string" },
        metadata: { $ref: "#/definitions/meta" },
      },
      required: ["apiVersion", "kind"],
    },
  },
  List: { schema: { type: "array", items: { type: "string" } }, json: { type: "array", items: { type: "string" } } },
  Reference: {
    schema: { allOf: [{ $ref: "#/components/schemas/a.b" }], default: {} },
    json: { $ref: "#/definitions/a.b" },
  },
};
for (const [name, { schema, json }] of Object.entries(cases)) {
  test(`JSON Schemas: ${name}`, () => assert.deepEqual(finish(toJsonSchema(schema, context)), json));
}

const app: CustomKind = {
  ...{ group: "e.org", version: "v1", kind: "App" },
  schema: { type: "object", required: ["spec"], properties: { spec: { type: "object" } } },
};

test("one schema has the built-in kinds, those of Crossplane and packages, and the given ones", () => {
  const text = finish(manifestSchema([app], { sources: [".."] }));
  const schema = JSON.parse(text) as Record<string, JsonValue>;
  const rules = schema["allOf"] as readonly { readonly if: JsonObject; readonly then: { readonly $ref: string } }[];
  const kinds = rules.map(({ if: condition }) => {
    const { apiVersion, kind } = condition["properties"] as Record<string, { readonly const: string }>;
    return `${apiVersion?.const} ${kind?.const}`;
  });
  for (const kind of [
    ...["apiextensions.crossplane.io/v2 CompositeResourceDefinition", "apiextensions.crossplane.io/v1 Composition"],
    ...[
      "pkg.crossplane.io/v1 Function",
      "meta.pkg.crossplane.io/v1 Configuration",
      "v1 ConfigMap",
      "apps/v1 Deployment",
    ],
    ...["Usage", "ClusterUsage"].map((kind) => `protection.crossplane.io/v1beta1 ${kind}`),
    "apiextensions.crossplane.io/v1beta1 Usage",
    ...["Operation", "CronOperation", "WatchOperation"].map((kind) => `ops.crossplane.io/v1alpha1 ${kind}`),
    "apiextensions.crossplane.io/v1alpha1 ManagedResourceDefinition",
    "apiextensions.crossplane.io/v1alpha1 ManagedResourceActivationPolicy",
    ...["FunctionRollout", "FunctionRolloutTemplate"].map((kind) => `pkg.crossplane.io/v1alpha1 ${kind}`),
    ...["DeploymentRuntimeConfig", "ImageConfig"].map((kind) => `pkg.crossplane.io/v1beta1 ${kind}`),
    "e.org/v1 App",
  ]) {
    assert.ok(kinds.includes(kind), kind);
  }
  assert.deepEqual([...new Set(kinds)].length, kinds.length, "each kind has one rule");
  assert.deepEqual(schema["x-purlin-sources"], [".."]);
  assert.equal(text, finish(manifestSchema([app], { sources: [".."] })), "the same input gives the same text");
});

const inputs = new Map([
  ["function-one", [{ ...{ group: "fn.e.org", version: "v1", kind: "Input" }, schema: { type: "object" } }]],
  [
    "function-two",
    ["v1", "v2"].map((version) => ({ ...{ group: "two.e.org", version, kind: "Input" }, schema: { type: "object" } })),
  ],
]);

test("the input of a step has the schema of its function's package", () => {
  const schema = JSON.parse(finish(manifestSchema([], { inputs }))) as JsonObject;
  const definitions = schema["definitions"] as Record<string, JsonObject>;
  const composition = definitions["io.crossplane.apiextensions.v1.Composition"];
  const step = ["properties", "spec", "properties", "pipeline", "items"].reduce<JsonObject>(
    (at, name) => at[name] as JsonObject,
    composition ?? {},
  );
  const rules = step["allOf"] as readonly { readonly if: JsonObject; readonly then: JsonObject }[];
  const reference = (name: string): JsonObject => ({ $ref: `#/definitions/${name}` });
  assert.deepEqual(
    rules.map(({ then }) => (then["properties"] as JsonObject)["input"]),
    [
      reference("input.org.e.fn.v1.Input"),
      { anyOf: [reference("input.org.e.two.v1.Input"), reference("input.org.e.two.v2.Input")] },
    ],
  );
  const { properties } = definitions["input.org.e.fn.v1.Input"] as { readonly properties: JsonObject };
  assert.deepEqual(properties["kind"], { const: "Input" });
});

test("every reference of the schema leads to a definition", () => {
  const schema = JSON.parse(finish(manifestSchema([app], { inputs }))) as JsonObject;
  const definitions = schema["definitions"] as JsonObject;
  const pending: JsonValue[] = [schema];
  let references = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (Array.isArray(next)) pending.push(...(next as JsonValue[]));
    if (!isJsonObject(next)) continue;
    const { $ref } = next;
    if (typeof $ref === "string") {
      references++;
      assert.ok(Object.hasOwn(definitions, $ref.replace("#/definitions/", "")), $ref);
    } else pending.push(...Object.values(next));
  }
  assert.ok(references > 400, String(references));
});

test("the schema of purlin.yaml has the fields that are read, and no others", () => {
  const schema = JSON.parse(projectSchema()) as { readonly properties: Record<string, JsonObject> };
  const fields = Object.entries(schema.properties).map(([name, { properties }]) => [
    name,
    Object.keys(properties ?? {}).sort(),
  ]);
  const read = Object.entries(projectFileFields).map(([name, members]) => [name, [...members].sort()]);
  assert.deepEqual(Object.fromEntries(fields), Object.fromEntries(read));
  using folder = tempFolder({ "purlin.yaml": "paths: [platform, ../shared]\n" });
  assert.deepEqual(
    readProjectFile({ cwd: folder.path }).paths?.map((path) => path.replace(folder.path, "")),
    ["/platform", folder.path.replace(/[^/]+$/, "shared")],
  );
});
