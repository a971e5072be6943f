// SPDX-License-Identifier: Apache-2.0
// What a Pod counts for in a ResourceQuota.
import { listAt } from "@purlin/kube-apiserver/kinds";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { quantityNanos } from "@purlin/kube-objects/typed";
import {
  type Amounts,
  added,
  amountsAt,
  containerAmounts,
  isExtended,
  isHugePages,
  largest,
} from "../checks/resource-names.ts";

type Member = "requests" | "limits";

const computed = ["cpu", "memory", "ephemeral-storage"];
const podLevel = (name: string): boolean => name === "cpu" || name === "memory" || isHugePages(name);
const isDevice = (name: string): boolean => isExtended(name) || name.startsWith("deviceclass.resource.kubernetes.io/");

/** Adds what a Pod counts for, in billionths, by the name of the resource in a quota. */
export function addPod(pod: JsonObject, usage: Map<string, bigint>): void {
  for (const [name, amount] of Object.entries(chargedAmounts(pod, "requests"))) {
    const isPlain = computed.includes(name) || isHugePages(name);
    if (isPlain) usage.set(name, quantityNanos(amount));
    if (isPlain || isDevice(name)) usage.set(`requests.${name}`, quantityNanos(amount));
  }
  const limits = Object.entries(chargedAmounts(pod, "limits")).filter(([name]) => computed.includes(name));
  for (const [name, amount] of limits) usage.set(`limits.${name}`, quantityNanos(amount));
}

/** Whether a Pod has requests or limits of its own, beside those of its containers. */
export function hasOwnAmounts(pod: JsonObject): boolean {
  const members = ["requests", "limits"] as const;
  return members.some((member) => Object.keys(amountsAt(pod, ["spec", "resources", member])).some(podLevel));
}

/** The amounts of the containers, or those of the whole Pod where it has them, with the overhead of its runtime class. */
export function chargedAmounts(pod: JsonObject, member: Member): Amounts {
  const own = Object.entries(amountsAt(pod, ["spec", "resources", member])).filter(([name]) => podLevel(name));
  const amounts = { ...containerAmounts(withRunningAmounts(pod), member), ...Object.fromEntries(own) };
  const overhead = amountsAt(pod, ["spec", "overhead"]);
  if (member === "requests") return added(amounts, overhead);
  const isLimited = ([name]: readonly [string, string]): boolean => quantityNanos(amounts[name] ?? "0") !== 0n;
  return added(amounts, Object.fromEntries(Object.entries(overhead).filter(isLimited)));
}

/** The spec with the amounts that running containers still have, where a resize has not taken effect yet. */
function withRunningAmounts(pod: JsonObject): JsonObject {
  const statuses = [...listAt(pod, "status", "containerStatuses"), ...listAt(pod, "status", "initContainerStatuses")];
  const running = new Map(
    statuses
      .filter((status) => isJsonObject(memberAt(status, ["resources"])))
      .map((status) => [stringAt(status, ["name"]), status]),
  );
  const spec = objectAt(pod, ["spec"]);
  if (running.size === 0) return spec;
  const cannotResize = isInfeasible(pod);
  const resized = (container: JsonObject): JsonObject => {
    const status = running.get(stringAt(container, ["name"]));
    return status === undefined ? container : withStatus(container, status, cannotResize);
  };
  const isSidecar = (container: JsonObject): boolean => stringAt(container, ["restartPolicy"]) === "Always";
  return {
    ...spec,
    containers: listAt(spec, "containers").map(resized),
    initContainers: listAt(spec, "initContainers").map((one) => (isSidecar(one) ? resized(one) : one)),
  };
}

/** A container with the larger of the amounts it asks for and those it has. A resize that is not possible does not count. */
function withStatus(container: JsonObject, status: JsonObject, cannotResize: boolean): JsonObject {
  const wanted = (member: Member): Amounts => (cannotResize ? {} : amountsAt(container, ["resources", member]));
  const has = (member: Member): Amounts => amountsAt(status, ["resources", member]);
  const requests = [has("requests"), amountsAt(status, ["allocatedResources"])].reduce(largest, wanted("requests"));
  return { ...container, resources: { requests, limits: largest(wanted("limits"), has("limits")) } };
}

function isInfeasible(pod: JsonObject): boolean {
  const pending = listAt(pod, "status", "conditions").find(({ type }) => type === "PodResizePending");
  return pending?.["reason"] === "Infeasible";
}
