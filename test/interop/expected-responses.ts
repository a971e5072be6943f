// SPDX-License-Identifier: Apache-2.0
// What the storefront function answers, whichever SDK it is written with, as protobuf-JSON.
import type { JsonObject } from "@purlin/function-protocol";

const selector = { apiVersion: "v1", kind: "ConfigMap", namespace: "team-blue" };
const config = (name: string): JsonObject => ({ ...selector, matchName: name });
const backends: JsonObject = { ...selector, matchLabels: { labels: { tier: "backend" } } };
const schemas: JsonObject = {
  deployment: { apiVersion: "apps/v1", kind: "Deployment" },
  nothing: { apiVersion: "example.org/v1", kind: "Nothing" },
};

const condition = (status: string, reason: string, message: string): JsonObject => ({
  type: "ConfigReady",
  status: `STATUS_CONDITION_${status}`,
  reason,
  message,
  target: "TARGET_COMPOSITE_AND_CLAIM",
});

const trail = (...steps: string[]): JsonObject => ({ "interop.example.org/trail": steps });

/** After three calls: the ConfigMap names another one, which is asked for once the first is there. */
export function expectedSettled(tag: string): JsonObject {
  return {
    meta: { tag, ttl: "60s" },
    desired: {
      composite: {
        resource: {
          status: {
            image: "shop:2",
            capabilities: [1, 2, 3, 4, 5],
            replicasType: "integer",
            nothing: "absent",
            backends: ["alpha", "zeta"],
            registryUser: "robot",
          },
        },
      },
      resources: {
        deployment: {
          resource: {
            apiVersion: "apps/v1",
            kind: "Deployment",
            metadata: { labels: { app: "storefront" } },
            spec: {
              replicas: 3,
              selector: { matchLabels: { app: "storefront" } },
              template: {
                metadata: { labels: { app: "storefront" } },
                spec: { containers: [{ name: "web", image: "shop:2" }] },
              },
            },
          },
          ready: "READY_TRUE",
        },
      },
    },
    results: [
      {
        severity: "SEVERITY_NORMAL",
        message: "composed a Deployment with 3 replicas",
        reason: "Composed",
        target: "TARGET_COMPOSITE",
      },
    ],
    context: trail("one", "one", "one"),
    requirements: {
      resources: { config: config("app-config"), backends, overrides: config("app-overrides") },
      schemas,
    },
    conditions: [condition("TRUE", "Found", "using image shop:2")],
  };
}

/** After two calls: there is no such ConfigMap, which is not the same as not knowing yet. */
export function expectedMissing(tag: string): JsonObject {
  const message = 'there is no ConfigMap "lost"';
  return {
    meta: { tag, ttl: "60s" },
    desired: {},
    results: [{ severity: "SEVERITY_WARNING", message, reason: "ConfigMissing", target: "TARGET_COMPOSITE_AND_CLAIM" }],
    context: trail("one", "one"),
    requirements: { resources: { config: config("lost"), backends }, schemas },
    conditions: [condition("FALSE", "NotFound", message)],
  };
}

/** After one call of a runner that promises nothing: the function asks for nothing and waits. */
export function expectedOnOldRunner(): JsonObject {
  return {
    meta: {},
    desired: {},
    results: [
      {
        severity: "SEVERITY_WARNING",
        message: "schemas are not supported by this control plane",
        target: "TARGET_COMPOSITE",
      },
    ],
    context: trail("one"),
    conditions: [condition("UNKNOWN", "Waiting", "the ConfigMap is being looked up")],
  };
}
