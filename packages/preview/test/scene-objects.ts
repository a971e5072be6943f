// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

/** The kinds of the scene. */
export const appType = { apiVersion: "example.org/v1", kind: "App" } as const;

const text: JsonObject = { type: "string" };

/** The fields of Apps. */
export const appFields: JsonObject = {
  text,
  mode: { type: "string", default: "plain" },
  count: { type: "integer", default: 1 },
  nested: { type: "integer" },
  gate: { type: "boolean" },
  password: text,
  fail: text,
  kind: text,
  withhold: { type: "boolean" },
};

/** An XRD of a namespaced kind. */
export function definition(kind: string, fields: JsonObject, required: readonly string[] = []): KubeObject {
  const plural = `${kind.toLowerCase()}s`;
  const spec = { type: "object", properties: fields, ...(required.length > 0 && { required: [...required] }) };
  const schema = {
    openAPIV3Schema: {
      type: "object",
      properties: { spec, status: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    },
  };
  return {
    apiVersion: "apiextensions.crossplane.io/v2",
    kind: "CompositeResourceDefinition",
    metadata: { name: `${plural}.example.org` },
    spec: {
      group: "example.org",
      scope: "Namespaced",
      names: { kind, plural },
      versions: [{ name: "v1", served: true, referenceable: true, schema }],
    },
  } as KubeObject;
}

/** An XRD of cluster-scoped composite resources that offers claims. */
export const claimDefinition: KubeObject = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositeResourceDefinition",
  metadata: { name: "xthings.example.org" },
  spec: {
    group: "example.org",
    names: { kind: "XThing", plural: "xthings" },
    claimNames: { kind: "Thing", plural: "things" },
    versions: [
      {
        name: "v1",
        served: true,
        referenceable: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: { text } } } } },
      },
    ],
  },
} as KubeObject;

/** A Composition of one step. `mode` is the input of its function. */
export function composition(
  kind: string,
  mode: string,
  more: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> } = {},
): KubeObject {
  const { name = `${kind.toLowerCase()}s`, labels } = more;
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name, ...(labels && { labels: { ...labels } }) },
    spec: {
      compositeTypeRef: { apiVersion: "example.org/v1", kind },
      mode: "Pipeline",
      pipeline: [
        {
          step: "compose",
          functionRef: { name: "fn" },
          input: { apiVersion: "fn.example.org/v1", kind: "Input", mode },
        },
      ],
    },
  } as KubeObject;
}

/** A CRD of a managed resource with a default. */
export const widgetCrd: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.things.example.org" },
  spec: {
    group: "things.example.org",
    scope: "Namespaced",
    names: { kind: "Widget", plural: "widgets", singular: "widget", listKind: "WidgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: {
                  size: { type: "string", default: "small" },
                  color: { type: "string", enum: ["red", "blue"] },
                  forProvider: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
                  deletionPolicy: text,
                },
              },
              status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
          },
        },
      },
    ],
  },
} as KubeObject;

/** A Function under development that is reached at an address. */
export function functionAt(address: string, name = "fn"): KubeObject {
  return {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Function",
    metadata: {
      name,
      annotations: {
        "render.crossplane.io/runtime": "Development",
        "render.crossplane.io/runtime-development-target": address,
      },
    },
    spec: { package: `example.org/${name}:v1` },
  };
}

/** An App. */
export function app(name: string, spec: JsonObject): KubeObject {
  return { ...appType, metadata: { name, namespace: "default" }, spec } as KubeObject;
}
