// SPDX-License-Identifier: Apache-2.0

import type { FunctionReference } from "@purlin/function-runner";
import { isJsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectAt, textAt, textMapAt } from "@purlin/kube-objects/object";

/** Which function each step of a pipeline runs, in order. */
export function functionReferences(revision: KubeObject): readonly FunctionReference[] {
  const pipeline = memberAt(revision, ["spec", "pipeline"]);
  if (!Array.isArray(pipeline)) return [];
  return pipeline.filter(isJsonObject).map((step) => {
    const ref = textAt(step, ["functionRevisionRef", "name"]);
    const selector = memberAt(step, ["functionRevisionSelector"]);
    const matchLabels = textMapAt(step, ["functionRevisionSelector", "matchLabels"]) ?? {};
    const image = textAt(step, ["function"]);
    return {
      step: textAt(step, ["step"]) ?? "",
      functionName: textAt(objectAt(step, ["functionRef"]), ["name"]) ?? "",
      ...(ref !== undefined && { functionRevisionRef: { name: ref } }),
      ...(selector !== undefined && { functionRevisionSelector: { matchLabels } }),
      ...(image !== undefined && { function: image }),
    };
  });
}
