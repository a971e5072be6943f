// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-objects/object";

export const app = { apiVersion: "example.org/v1", kind: "App" };

/** A definition of namespaced Apps. */
export const appDefinition: KubeObject = {
  apiVersion: "apiextensions.crossplane.io/v2",
  kind: "CompositeResourceDefinition",
  metadata: { name: "apps.example.org" },
  spec: {
    group: "example.org",
    scope: "Namespaced",
    names: { kind: "App", plural: "apps" },
    versions: [
      {
        name: "v1",
        served: true,
        referenceable: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { text: { type: "string" } } },
              status: { type: "object", properties: { seen: { type: "string" } } },
            },
          },
        },
      },
    ],
  },
};

export const appComposition: KubeObject = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  metadata: { name: "apps" },
  spec: {
    compositeTypeRef: app,
    mode: "Pipeline",
    pipeline: [{ step: "compose", functionRef: { name: "fn" } }],
  },
};

/** A Function under development that is reached at an address. */
export function functionAt(address: string): KubeObject {
  return {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Function",
    metadata: {
      name: "fn",
      annotations: {
        "render.crossplane.io/runtime": "Development",
        "render.crossplane.io/runtime-development-target": address,
      },
    },
    spec: { package: "example.org/fn:v1" },
  };
}

/** The status of a condition, or undefined. */
export function conditionStatus(object: KubeObject, type: string): string | undefined {
  const status = object["status"] as { conditions?: readonly { type: string; status: string }[] } | undefined;
  return status?.conditions?.find((one) => one.type === type)?.status;
}
