// SPDX-License-Identifier: Apache-2.0
import type { ComposedObject, JsonObject } from "@purlin/function-sdk";
import type { App } from "./app.ts";

/** The Deployment that runs an app and hands it the database's credentials. */
export function deploymentOf(app: App, credentialsSecret: string): JsonObject {
  const labels = { "app.kubernetes.io/name": app.name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: app.namespace, labels },
    spec: {
      replicas: app.replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [{ name: "app", image: app.image, envFrom: [{ secretRef: { name: credentialsSecret } }] }],
        },
      },
    },
  };
}

/** Whether the Deployment that exists serves the image that is wanted now, and not the one before. */
export function isServing(deployment: ComposedObject | undefined, app: App): boolean {
  if (deployment === undefined || deployment.getCondition("Available").status !== "True") return false;
  const image = "spec.template.spec.containers[0].image";
  return deployment.has(image) && deployment.getString(image) === app.image;
}
