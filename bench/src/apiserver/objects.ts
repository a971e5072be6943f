// SPDX-License-Identifier: Apache-2.0

/** The kinds of objects that are written: a built-in one and one with a schema of its own. */
export const kinds = ["ConfigMap", "Widget"] as const;
export type Kind = (typeof kinds)[number];

export const collections: Readonly<Record<Kind, string>> = {
  ConfigMap: "/api/v1/namespaces/default/configmaps",
  Widget: "/apis/bench.example.org/v1/namespaces/default/widgets",
};

/** The collection of a kind in a namespace. */
export function collectionIn(kind: Kind, namespace: string): string {
  return collections[kind].replace("/default/", `/${namespace}/`);
}

/** An object of about a kilobyte, with what objects usually have. */
export function objectOf(kind: Kind, name: string, namespace = "default"): Record<string, unknown> {
  const metadata = {
    name,
    namespace,
    labels: { "app.kubernetes.io/name": "bench", "app.kubernetes.io/part-of": "benchmark", shard: name.slice(-1) },
    annotations: { "example.org/description": "an object of the kind people keep many of" },
  };
  return kind === "ConfigMap" ? configMap(metadata) : widget(metadata);
}

function configMap(metadata: object): Record<string, unknown> {
  const lines = Array.from({ length: 12 }, (_, line) => `setting.${line}=value of setting ${line}`);
  const data = {
    "application.properties": lines.join("\n"),
    "log-level": "info",
    endpoint: "https://example.org:8443",
  };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data };
}

function widget(metadata: object): Record<string, unknown> {
  const parts = Array.from({ length: 4 }, (_, part) => ({
    name: `part-${part}`,
    quantity: part + 1,
    options: { material: "steel", colour: "blue" },
  }));
  const spec = { size: 7, region: "eu-central-1", enabled: true, parts };
  return { apiVersion: "bench.example.org/v1", kind: "Widget", metadata, spec };
}

const text = { type: "string", maxLength: 200 };

/** The definition of Widgets: defaults, formats, a list by key and two rules. */
export const widgetDefinition: Record<string, unknown> = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.bench.example.org" },
  spec: {
    group: "bench.example.org",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: { spec: widgetSpec(), status: { type: "object", properties: { ready: { type: "boolean" } } } },
          },
        },
      },
    ],
  },
};

function widgetSpec(): object {
  return {
    type: "object",
    required: ["size"],
    properties: {
      size: { type: "integer", minimum: 1, maximum: 100 },
      region: { type: "string", pattern: "^[a-z]{2}-[a-z]+-[0-9]$" },
      enabled: { type: "boolean" },
      tier: { type: "string", enum: ["small", "large"], default: "small" },
      parts: {
        type: "array",
        maxItems: 20,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: {
          type: "object",
          required: ["name"],
          properties: {
            name: text,
            quantity: { type: "integer", default: 1 },
            options: { type: "object", additionalProperties: text },
          },
        },
      },
    },
    "x-kubernetes-validations": [
      { rule: "self.size <= 50 || self.tier == 'large'", message: "large sizes need the large tier" },
      { rule: "!has(self.parts) || self.parts.all(p, p.quantity > 0)", message: "a part has a quantity" },
    ],
  };
}
