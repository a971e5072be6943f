// SPDX-License-Identifier: Apache-2.0
// Warnings about the placement of a Pod or of a Pod template.

import { listAt } from "@purlin/kube-apiserver/kinds";
import { keyPath } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";

const oldLabels: ReadonlyMap<string, string> = new Map([
  ["beta.kubernetes.io/arch", 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ["beta.kubernetes.io/os", 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ["failure-domain.beta.kubernetes.io/region", 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ["failure-domain.beta.kubernetes.io/zone", 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ["beta.kubernetes.io/instance-type", 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
  ["node-role.kubernetes.io/master", 'use "node-role.kubernetes.io/control-plane" instead'],
]);

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
const nullSelector = "a null labelSelector results in matching no pod";

/** Labels of nodes that have other names now, and constraints that count no Pod. */
export function* placementWarnings(spec: JsonObject, path: string): Generator<string> {
  for (const name of Object.keys(objectAt(spec, ["nodeSelector"]))) {
    const text = oldLabels.get(name);
    if (text !== undefined) yield `${keyPath(`${path}.nodeSelector`, name)}: ${text}`;
  }
  yield* nodeAffinityWarnings(objectAt(spec, ["affinity", "nodeAffinity"]), `${path}.affinity.nodeAffinity`);
  for (const [index, constraint] of listAt(spec, "topologySpreadConstraints").entries()) {
    const at = `${path}.topologySpreadConstraints[${index}]`;
    yield* oldLabel(stringAt(constraint, ["topologyKey"]), `${at}.topologyKey`);
    yield* noSelector(constraint, at);
  }
}

function* nodeAffinityWarnings(affinity: JsonObject, path: string): Generator<string> {
  for (const [index, term] of listAt(affinity, required, "nodeSelectorTerms").entries()) {
    yield* termWarnings(term, `${path}.${required}.nodeSelectorTerms[${index}]`);
  }
  for (const [index, one] of listAt(affinity, preferred).entries()) {
    yield* termWarnings(objectAt(one, ["preference"]), `${path}.${preferred}[${index}].preference`);
  }
}

function* termWarnings(term: JsonObject, path: string): Generator<string> {
  for (const [index, expression] of listAt(term, "matchExpressions").entries()) {
    yield* oldLabel(stringAt(expression, ["key"]), `${path}.matchExpressions[${index}].key`);
  }
}

function* oldLabel(name: string, path: string): Generator<string> {
  const text = oldLabels.get(name);
  if (text !== undefined) yield `${path}: ${name} is ${text}`;
}

/** Pods that are to be near others, or far from them, and do not say which. */
export function* neighbourWarnings(spec: JsonObject, path: string): Generator<string> {
  for (const kind of ["podAffinity", "podAntiAffinity"]) {
    const affinity = objectAt(spec, ["affinity", kind]);
    const at = `${path}.affinity.${kind}`;
    for (const [index, term] of listAt(affinity, required).entries()) {
      yield* noSelector(term, `${at}.${required}[${index}]`);
    }
    for (const [index, one] of listAt(affinity, preferred).entries()) {
      yield* noSelector(objectAt(one, ["podAffinityTerm"]), `${at}.${preferred}[${index}].podAffinityTerm`);
    }
  }
}

function* noSelector(object: JsonObject, path: string): Generator<string> {
  const selector = memberAt(object, ["labelSelector"]);
  if (selector === undefined || selector === null) yield `${path}.labelSelector: ${nullSelector}`;
}
