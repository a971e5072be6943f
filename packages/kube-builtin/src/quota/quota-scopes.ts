// SPDX-License-Identifier: Apache-2.0
import { listAt } from "@purlin/kube-apiserver/kinds";
import { isJsonArray, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { amountsAt } from "./pod-resources.ts";

interface Scope {
  readonly name: string;
  readonly operator: string;
  readonly values: readonly string[];
}

function scopesOf(quota: JsonObject): Scope[] {
  const names = memberAt(quota, ["spec", "scopes"]);
  const plain = isJsonArray(names) ? names.map((name) => ({ name: String(name), operator: "Exists", values: [] })) : [];
  const selected = listAt(quota, "spec", "scopeSelector", "matchExpressions").map((one) => {
    const values = memberAt(one, ["values"]);
    return {
      name: stringAt(one, ["scopeName"]),
      operator: stringAt(one, ["operator"]),
      values: isJsonArray(values) ? values.map(String) : [],
    };
  });
  return [...plain, ...selected];
}

/** Whether a quota concerns an object: one with scopes concerns Pods only, and only those in all of its scopes. */
export function isInScope(quota: JsonObject, resource: string, object: JsonObject): boolean {
  const scopes = scopesOf(quota);
  if (scopes.length === 0) return true;
  return resource === "pods" && scopes.every((scope) => matches(scope, object));
}

function matches({ name, operator, values }: Scope, pod: JsonObject): boolean {
  switch (name) {
    case "Terminating":
      return isTerminating(pod);
    case "NotTerminating":
      return !isTerminating(pod);
    case "BestEffort":
      return isBestEffort(pod);
    case "NotBestEffort":
      return !isBestEffort(pod);
    case "PriorityClass":
      return matchesClass(stringAt(pod, ["spec", "priorityClassName"]), operator, values);
    case "CrossNamespacePodAffinity":
      return JSON.stringify(memberAt(pod, ["spec", "affinity"]) ?? {}).includes('"namespace');
    default:
      return false;
  }
}

function matchesClass(name: string, operator: string, values: readonly string[]): boolean {
  if (operator === "In") return values.includes(name);
  if (operator === "NotIn") return !values.includes(name);
  return (operator === "Exists") === (name !== "");
}

function isTerminating(pod: JsonObject): boolean {
  const seconds = memberAt(pod, ["spec", "activeDeadlineSeconds"]);
  return typeof seconds === "number" && seconds >= 0;
}

function isBestEffort(pod: JsonObject): boolean {
  const containers = [...listAt(pod, "spec", "containers"), ...listAt(pod, "spec", "initContainers")];
  return containers.every((one) =>
    ["requests", "limits"].every((member) => {
      const amounts = amountsAt(one, ["resources", member]);
      return amounts["cpu"] === undefined && amounts["memory"] === undefined;
    }),
  );
}
