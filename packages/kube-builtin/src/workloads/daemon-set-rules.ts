// SPDX-License-Identifier: Apache-2.0

import { type KindRules, metaOf, withMeta } from "@purlin/kube-apiserver/kinds";
import { goQuote, type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { objectAt } from "@purlin/kube-objects/object";
import { TypedFormError } from "@purlin/kube-objects/typed";
import { daemonSetChecks } from "./workload-rules.ts";

/** How often the template has changed: a field of the reference's own that v1 shows as an annotation. */
export const templateGeneration = "deprecated.daemonset.template.generation";

/** Every write carries it, so every writer comes to own it; what it says is up to the server. */
export const daemonSetRules: KindRules = {
  ...daemonSetChecks,
  emptyMembers: { annotations: { [templateGeneration]: "0" } },
  decode: (object) => withGeneration(object, sentGeneration(object)),
  prepareCreate: (object) => withGeneration(object, Math.max(1, sentGeneration(object))),
  prepareUpdate: (object, old) => withGeneration(object, sentGeneration(old) + (sameTemplate(object, old) ? 0 : 1)),
};

function sentGeneration(object: JsonObject): number {
  const text = metaOf(object).annotations?.[templateGeneration] ?? "0";
  if (!/^[-+]?\d+$/.test(text)) throw new TypedFormError(`strconv.ParseInt: parsing ${goQuote(text)}: invalid syntax`);
  return Number(text);
}

function withGeneration(object: JsonObject, generation: number): JsonObject {
  const annotations = { ...metaOf(object).annotations, [templateGeneration]: String(generation) };
  return withMeta(object, { annotations });
}

function sameTemplate(object: JsonObject, old: JsonObject): boolean {
  return jsonEqual(objectAt(object, ["spec", "template"]), objectAt(old, ["spec", "template"]));
}
