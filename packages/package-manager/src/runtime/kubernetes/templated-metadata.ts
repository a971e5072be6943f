// SPDX-License-Identifier: Apache-2.0

import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, type OwnerReference, textMapAt } from "@purlin/kube-objects/object";

/** Where an object is and whose it is. */
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
