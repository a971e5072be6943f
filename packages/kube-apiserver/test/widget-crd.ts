// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";

/** A custom kind for tests: with a default, a status and a Scale. */
export const widgetCrd: JsonObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.org" },
  spec: {
    group: "example.org",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
        },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: { replicas: { type: "integer" }, color: { type: "string", default: "red" } },
              },
              status: { type: "object", properties: { replicas: { type: "integer" } } },
            },
          },
        },
      },
    ],
  },
};

/** Where definitionsPath are. */
export const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
