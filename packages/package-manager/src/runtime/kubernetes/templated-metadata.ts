// SPDX-License-Identifier: Apache-2.0

import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, type OwnerReference, textMapAt } from "@purlin/kube-objects/object";

/** The place and owner of an object. */
export interface ObjectPlace {
  readonly name: string;
  readonly namespace: string;
  readonly owner: OwnerReference;
}

/** The metadata of a runtime object: labels and annotations are those of its template. */
export function templatedMetadata(
  config: JsonObject,
  template: "serviceTemplate" | "deploymentTemplate" | "serviceAccountTemplate",
  { name, namespace, owner }: ObjectPlace,
): KubeObject["metadata"] {
  const labels = textMapAt(config, [template, "metadata", "labels"]);
  const annotations = textMapAt(config, [template, "metadata", "annotations"]);
  return {
    name,
    namespace,
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ownerReferences: [owner],
  };
}

/** Items of a template and our own after them. Of two with the same key ours stays, as Kubernetes lets the last one win. */
export function mergeByName(
  given: readonly JsonObject[],
  own: readonly JsonObject[],
  key: "name" | "mountPath" = "name",
): JsonObject[] {
  const taken = new Set(own.map((item) => item[key]));
  return [...given.filter((item) => !taken.has(item[key] ?? null)), ...own];
}

/** Items of a template and those of ours that it lacks. */
export function addMissing(given: readonly JsonObject[], own: readonly JsonObject[]): JsonObject[] {
  const taken = new Set(given.map(({ name }) => name));
  return [...given, ...own.filter(({ name }) => !taken.has(name ?? null))];
}
