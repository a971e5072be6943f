// SPDX-License-Identifier: Apache-2.0
// The kind most custom-resource cases use: one of everything a schema can have.
import type { Loose } from "./loose.ts";

const text = { type: "string" };
const integer = { type: "integer" };

const spec = {
  type: "object",
  properties: {
    size: { type: "integer", minimum: 0, maximum: 100 },
    big: { type: "integer", format: "int64" },
    ratio: { type: "number" },
    on: { type: "boolean" },
    color: { ...text, default: "red", enum: ["red", "green", "blue"] },
    code: { ...text, pattern: "^[a-z]+$", maxLength: 8 },
    replicas: integer,
    parts: {
      type: "array",
      maxItems: 5,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: {
        type: "object",
        required: ["name"],
        properties: { name: text, count: { type: "integer", default: 1 }, note: text },
      },
    },
    ports: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["port", "protocol"],
      items: {
        type: "object",
        required: ["port"],
        properties: { port: integer, protocol: { ...text, default: "TCP" }, name: text },
      },
    },
    tags: { type: "object", additionalProperties: text },
    zones: { type: "array", "x-kubernetes-list-type": "set", items: text },
    args: { type: "array", items: text },
    atomicMap: { type: "object", "x-kubernetes-map-type": "atomic", additionalProperties: text },
    port: { "x-kubernetes-int-or-string": true },
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    template: {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      "x-kubernetes-preserve-unknown-fields": true,
    },
    nested: { type: "object", properties: { a: { ...text, default: "deep" }, b: text } },
    nothing: { ...text, nullable: true },
    secretRef: { type: "object", required: ["name"], properties: { name: text, key: text } },
  },
  "x-kubernetes-validations": [{ rule: "!has(self.size) || self.size != 13", message: "thirteen is unlucky" }],
};

const condition = {
  type: "object",
  required: ["type", "status"],
  properties: { type: text, status: text, reason: text, message: text },
};

const status = {
  type: "object",
  properties: {
    phase: text,
    replicas: integer,
    selector: text,
    observedGeneration: { type: "integer", format: "int64" },
    conditions: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
      items: condition,
    },
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
};

const schema = { type: "object", properties: { spec, status } };

function version(name: string, storage: boolean): Loose {
  return {
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: { ...structuredClone(schema), description: `A widget as of ${name}.` } },
    subresources: {
      status: {},
      scale: {
        specReplicasPath: ".spec.replicas",
        statusReplicasPath: ".status.replicas",
        labelSelectorPath: ".status.selector",
      },
    },
    additionalPrinterColumns: [
      { name: "Size", type: "integer", jsonPath: ".spec.size", description: "How big it is." },
      { name: "Ready", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
      { name: "Color", type: "string", jsonPath: ".spec.color", priority: 1 },
      { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    ],
    selectableFields: selectableFields(storage),
  };
}

/** They differ between versions just as the schemas do: the reference refuses a CRD where only one of the two differs. */
function selectableFields(storage: boolean): Loose {
  return storage ? [{ jsonPath: ".spec.color" }, { jsonPath: ".spec.size" }] : [{ jsonPath: ".spec.color" }];
}

/** The widget CRD in a group. The caller may change what it gets. */
export function widgetCrd(group: string): Loose {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: {
        plural: "widgets",
        singular: "widget",
        kind: "Widget",
        listKind: "WidgetList",
        shortNames: ["wd"],
        categories: ["all", "gadgets"],
      },
      versions: [version("v1", true), version("v1beta1", false)],
    },
  };
}
