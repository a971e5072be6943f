// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../json/json-value.ts";
import { builtinOpenAPI } from "../openapi/builtin-openapi.ts";
import { applyTypeOf, customResourceType, objectMetaComponents } from "./apply-schema.ts";
import { type ApplyType, deduced, formOf, formsDiffer, untypedAtomic } from "./apply-type.ts";
import { createFieldManager } from "./field-manager.ts";
import { managedFieldsOf } from "./managers.ts";

function describe(type: ApplyType | undefined): string {
  if (!type) return "none";
  if (type === deduced) return "deduced";
  if (type === untypedAtomic) return "untyped";
  const parts: string[] = [];
  if (type.scalar) parts.push(type.scalar);
  if (type.list) parts.push(`${type.list.atomic ? "atomic" : "granular"} list[${type.list.keys.join(",")}]`);
  if (type.map) parts.push(`${type.map.atomic ? "atomic" : "granular"} map of ${describe(type.map.element)}`);
  return parts.join(" or ");
}

test("each form of schema has its type", () => {
  const text = { type: "string" };
  const rows: ReadonlyArray<readonly [JsonObject, string]> = [
    [{ type: "integer" }, "numeric"],
    [{ type: "number" }, "numeric"],
    [{ type: "boolean" }, "boolean"],
    [text, "string"],
    [{ type: "string", format: "byte" }, "string"],
    [{ type: "string", format: "date-time" }, "untyped"],
    [{ type: "string", format: "anything" }, "untyped"],
    [{ type: "object" }, "granular map of deduced"],
    [{ type: "object", properties: { a: text } }, "granular map of none"],
    [
      { type: "object", properties: { a: text }, "x-kubernetes-preserve-unknown-fields": true },
      "granular map of deduced",
    ],
    [{ type: "object", additionalProperties: text }, "granular map of string"],
    [{ type: "object", additionalProperties: true }, "granular map of deduced"],
    [{ type: "object", additionalProperties: false }, "granular map of none"],
    [{ type: "object", additionalProperties: text, "x-kubernetes-map-type": "atomic" }, "atomic map of string"],
    [{ type: "object", additionalProperties: text, "x-kubernetes-map-type": "granular" }, "granular map of string"],
    [{ type: "array", items: text }, "atomic list[]"],
    [{ type: "array", items: text, "x-kubernetes-list-type": "atomic" }, "atomic list[]"],
    [{ type: "array", items: text, "x-kubernetes-list-type": "set" }, "granular list[]"],
    [
      {
        type: "array",
        items: { type: "object" },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["b", "a"],
      },
      "granular list[b,a]",
    ],
    [
      {
        type: "array",
        items: { type: "object" },
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "name",
      },
      "granular list[name]",
    ],
    [{ type: "array", items: text, "x-kubernetes-patch-strategy": "merge" }, "granular list[]"],
    [{ type: "array", items: text, "x-kubernetes-patch-strategy": "retainKeys" }, "atomic list[]"],
    [{}, "untyped or atomic list[] or granular map of deduced"],
    [{ "x-kubernetes-int-or-string": true }, "untyped or atomic list[] or granular map of deduced"],
  ];
  for (const [schema, want] of rows) assert.equal(describe(applyTypeOf(schema)), want, JSON.stringify(schema));
});

test("references resolve, also inside allOf and to themselves, and may say how entries relate", () => {
  const components: Record<string, JsonObject> = {
    Node: {
      type: "object",
      properties: {
        value: { type: "string", default: "x" },
        next: { allOf: [{ $ref: "#/components/schemas/Node" }], default: {} },
        whole: { $ref: "#/components/schemas/Node", "x-kubernetes-map-type": "atomic" },
      },
    },
  };
  const type = applyTypeOf({ $ref: "#/components/schemas/Node" }, { component: (name) => components[name] });
  const next = type.map?.field("next")?.type;
  assert.equal(next?.map?.field("next")?.type, next);
  assert.equal(type.map?.field("value")?.default, "x");
  const whole = type.map?.field("whole")?.type;
  assert.equal(describe(whole), "atomic map of none");
  assert.equal(describe(whole?.map?.field("value")?.type), "string");
  const missing = applyTypeOf({ type: "object", properties: { a: { $ref: "#/x/Missing" } } });
  assert.throws(() => missing.map?.field("a"), /^Error: schema error: no type found matching: Missing$/);
});

test("preserved unknown fields are inherited by inline schemas, not through references", () => {
  const inner = { type: "object", properties: { a: { type: "string" } } };
  const type = applyTypeOf(
    {
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
      properties: { inline: inner, other: { $ref: "#/c/Inner" }, map: { type: "object", additionalProperties: inner } },
    },
    { component: () => inner },
  );
  assert.equal(describe(type.map?.field("inline")?.type), "granular map of deduced");
  assert.equal(describe(type.map?.field("map")?.type), "granular map of granular map of deduced");
  assert.equal(describe(type.map?.field("other")?.type), "granular map of none");
  assert.equal(describe(applyTypeOf(inner, { preserveUnknownFields: true })), "granular map of deduced");
});

test("a custom resource has the fields of every object; without a schema it is anything", () => {
  assert.equal(customResourceType(undefined), deduced);
  const type = customResourceType({ type: "object", properties: { metadata: { type: "object" } } });
  assert.equal(describe(type.map?.field("apiVersion")?.type), "string");
  const metadata = type.map?.field("metadata")?.type.map;
  assert.equal(describe(metadata?.field("finalizers")?.type), "granular list[]");
  assert.equal(describe(metadata?.field("ownerReferences")?.type), "granular list[uid]");
  assert.equal(describe(metadata?.field("ownerReferences")?.type.list?.item), "atomic map of none");
  assert.equal(describe(metadata?.field("managedFields")?.type), "atomic list[]");
  assert.equal(describe(metadata?.field("labels")?.type), "granular map of string");
  assert.equal(metadata?.field("toString"), undefined);
});

test("an embedded resource has them too", () => {
  const type = customResourceType({
    type: "object",
    properties: {
      template: { type: "object", "x-kubernetes-embedded-resource": true, properties: { spec: { type: "object" } } },
    },
  });
  const template = type.map?.field("template")?.type.map;
  assert.equal(describe(template?.field("kind")?.type), "string");
  assert.equal(describe(template?.field("metadata")?.type.map?.field("finalizers")?.type), "granular list[]");
});

test("our metadata schema has the types of the built-in one", () => {
  const schemas = builtinOpenAPI().document("api/v1")?.components.schemas ?? {};
  for (const [name, mine] of Object.entries(objectMetaComponents)) {
    const builtin = applyTypeOf({ $ref: `#/components/schemas/${name}` }, { component: (key) => schemas[key] });
    const ours = applyTypeOf(mine);
    const fields = Object.keys(mine["properties"] as JsonObject);
    assert.deepEqual(fields.sort(), Object.keys(schemas[name]?.["properties"] as JsonObject).sort(), name);
    for (const field of fields) {
      assert.equal(
        describe(ours.map?.field(field)?.type),
        describe(builtin.map?.field(field)?.type),
        `${name}.${field}`,
      );
    }
  }
});

test("built-in kinds: quantities and raw extensions are special, lists merge by their keys", () => {
  const schemas = builtinOpenAPI().document("apis/apps/v1")?.components.schemas ?? {};
  const deployment = schemas["io.k8s.api.apps.v1.Deployment"];
  assert.ok(deployment);
  const type = applyTypeOf(deployment, { component: (name) => schemas[name] });
  const pod = type.map?.field("spec")?.type.map?.field("template")?.type.map?.field("spec")?.type.map;
  const container = pod?.field("containers")?.type.list?.item.map;
  assert.equal(describe(container?.field("ports")?.type), "granular list[containerPort,protocol]");
  assert.equal(describe(container?.field("args")?.type), "atomic list[]");
  assert.equal(describe(container?.field("resources")?.type.map?.field("limits")?.type), "granular map of untyped");
  assert.equal(describe(type.map?.field("spec")?.type.map?.field("selector")?.type), "atomic map of none");
  const manager = createFieldManager({
    apiVersion: "apps/v1",
    kind: "Deployment",
    versions: { typeAt: () => type },
    now: () => new Date(0),
  });
  const object = manager.apply(
    undefined,
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d" },
      spec: {
        template: {
          spec: { containers: [{ name: "c", ports: [{ containerPort: 80 }], resources: { limits: { cpu: 1 } } }] },
        },
      },
    },
    { manager: "m", force: false },
  );
  assert.deepEqual(managedFieldsOf(object)?.[0]?.fieldsV1, {
    "f:spec": {
      "f:template": {
        "f:spec": {
          "f:containers": {
            'k:{"name":"c"}': {
              ".": {},
              "f:name": {},
              "f:ports": { 'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} } },
              "f:resources": { "f:limits": { "f:cpu": {} } },
            },
          },
        },
      },
    },
  });
});

test("the value decides the form of a type that allows several", () => {
  assert.deepEqual(
    [1, "x", [], {}, null].map((value) => formOf(deduced, value)),
    ["scalar", "scalar", "list", "map", "map"],
  );
  assert.equal(formOf({ scalar: "string" }, {}), "scalar");
  assert.equal(formOf({}, 1), undefined);
  assert.ok(formsDiffer(deduced, 1, {}) && formsDiffer(deduced, null, {}) && !formsDiffer(deduced, 1, "x"));
  assert.ok(!formsDiffer({ scalar: "string" }, 1, {}));
});
