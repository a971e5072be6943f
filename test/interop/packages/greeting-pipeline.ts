// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-objects/object";

const kind = "Greeting";
const group = "packages.example.org";

/** A composite resource that each function of a pipeline makes a ConfigMap for. */
export const definition: KubeObject = {
  apiVersion: "apiextensions.crossplane.io/v2",
  kind: "CompositeResourceDefinition",
  metadata: { name: `greetings.${group}` },
  spec: {
    scope: "Namespaced",
    group,
    names: { kind, plural: "greetings" },
    versions: [
      {
        name: "v1",
        served: true,
        referenceable: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: { spec: { type: "object", properties: { greeting: { type: "string" } } } },
          },
        },
      },
    ],
  },
};

/** A pipeline of functions, one after the other, with their input. */
export function compositionOf(functions: readonly string[], input: object = {}): KubeObject {
  const stepInput = { apiVersion: `${group}/v1`, kind: "Input", ...input };
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: "greetings" },
    spec: {
      compositeTypeRef: { apiVersion: `${group}/v1`, kind },
      mode: "Pipeline",
      pipeline: functions.map((name) => ({ step: name, functionRef: { name }, input: stepInput })),
    },
  };
}

/** One of them. */
export function greeting(name: string): KubeObject {
  return { apiVersion: `${group}/v1`, kind, metadata: { name, namespace: "default" }, spec: { greeting: "hello" } };
}
