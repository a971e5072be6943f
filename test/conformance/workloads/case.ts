// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import type { TypeRef } from "@purlin/kube-objects/object";

/** A change of an object after the cluster has settled. */
export interface Step {
  readonly type: TypeRef;
  readonly name: string;
  /** A merge patch; the object is deleted without one. */
  readonly patch?: JsonObject;
}

/** Manifests of one namespace, and what is changed in it later. */
export interface WorkloadCase {
  readonly title: string;
  readonly objects: readonly JsonObject[];
  /** What exists before: controllers of a cluster receive objects of different kinds in any order. */
  readonly before?: readonly JsonObject[];
  /** The manifests for the cluster, if they cannot be the same there. */
  readonly clusterObjects?: readonly JsonObject[];
  readonly steps?: readonly Step[];
}

export const labels = { app: "web" };
export const outcome = (text: string): JsonObject => ({ "simulation.purlin.dev/outcome": text });

interface TemplateOptions {
  readonly annotations?: JsonObject;
  readonly spec?: JsonObject;
  readonly image?: string;
}

/** A Pod template with one container. */
export function template({ annotations = {}, spec = {}, image = "nginx:1" }: TemplateOptions = {}): JsonObject {
  const ports = [{ name: "http", containerPort: 8080 }];
  return { metadata: { labels, annotations }, spec: { containers: [{ name: "main", image, ports }], ...spec } };
}

/** A workload of the Pods of {@link template}. */
export function workload(type: TypeRef, spec: JsonObject = {}, options: TemplateOptions = {}): JsonObject {
  const more = type.kind === "StatefulSet" ? { serviceName: "web" } : {};
  const selector = type.kind === "ReplicationController" ? labels : { matchLabels: labels };
  const fields = { selector, template: template(options), ...more, ...spec };
  return { ...type, metadata: { name: "web" }, spec: fields };
}

/** A new image for the Pods of a workload. */
export const newImage = (image = "nginx:2"): JsonObject => ({
  spec: {
    template: { spec: { containers: [{ name: "main", image, ports: [{ name: "http", containerPort: 8080 }] }] } },
  },
});
