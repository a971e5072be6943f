// SPDX-License-Identifier: Apache-2.0
// What one object counts for in a ResourceQuota.
import { listAt, metaOf, type ResourceType } from "@purlin/kube-apiserver/kinds";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { quantityNanos } from "@purlin/kube-objects/typed";
import { podAmounts } from "./pod-resources.ts";

/** Values in billionths by the name of the resource in a quota. */
export type Usage = ReadonlyMap<string, bigint>;

const one = 1_000_000_000n;
/** Resources of the core group that a quota counts under their own name. */
const countedByName = new Set([
  "configmaps",
  "persistentvolumeclaims",
  "pods",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "services",
]);

/** What an object counts for. */
export function usageOf({ group, resource }: Pick<ResourceType, "group" | "resource">, object: JsonObject): Usage {
  const usage = new Map<string, bigint>([[`count/${resource}${group === "" ? "" : `.${group}`}`, one]]);
  if (group !== "") return usage;
  if (resource === "pods") return podUsage(object, usage);
  if (countedByName.has(resource)) usage.set(resource, one);
  if (resource === "services") addService(object, usage);
  if (resource === "persistentvolumeclaims") addClaim(object, usage);
  return usage;
}

/** A Pod that has ended counts as an object only. */
function hasEnded(pod: JsonObject): boolean {
  const phase = stringAt(pod, ["status", "phase"]);
  return phase === "Succeeded" || phase === "Failed";
}

function podUsage(pod: JsonObject, usage: Map<string, bigint>): Usage {
  if (hasEnded(pod)) return usage;
  usage.set("pods", one);
  for (const [name, value] of Object.entries(podAmounts(pod, "requests"))) {
    usage.set(`requests.${name}`, quantityNanos(value));
    if (["cpu", "memory", "ephemeral-storage"].includes(name)) usage.set(name, quantityNanos(value));
  }
  for (const [name, value] of Object.entries(podAmounts(pod, "limits"))) {
    usage.set(`limits.${name}`, quantityNanos(value));
  }
  return usage;
}

function addService(service: JsonObject, usage: Map<string, bigint>): void {
  const type = stringAt(service, ["spec", "type"]);
  const ports = listAt(service, "spec", "ports");
  const withoutPorts = memberAt(service, ["spec", "allocateLoadBalancerNodePorts"]) === false;
  const given = ports.filter((port) => Number(memberAt(port, ["nodePort"]) ?? 0) !== 0).length;
  if (type === "LoadBalancer") usage.set("services.loadbalancers", one);
  if (type === "NodePort") usage.set("services.nodeports", BigInt(ports.length) * one);
  if (type === "LoadBalancer") usage.set("services.nodeports", BigInt(withoutPorts ? given : ports.length) * one);
}

const classAnnotation = "volume.beta.kubernetes.io/storage-class";

function addClaim(claim: JsonObject, usage: Map<string, bigint>): void {
  const storage = quantityNanos(stringAt(claim, ["spec", "resources", "requests", "storage"]));
  const named = metaOf(claim).annotations?.[classAnnotation] ?? stringAt(claim, ["spec", "storageClassName"]);
  usage.set("requests.storage", storage);
  if (named === "") return;
  usage.set(`${named}.storageclass.storage.k8s.io/requests.storage`, storage);
  usage.set(`${named}.storageclass.storage.k8s.io/persistentvolumeclaims`, one);
}
