// SPDX-License-Identifier: Apache-2.0
import { listAt } from "@purlin/kube-apiserver/kinds";
import type { JsonObject } from "@purlin/kube-objects/json";
import { objectAt } from "@purlin/kube-objects/object";
import { compareQuantities } from "@purlin/kube-objects/typed";

const countedResources = ["cpu", "memory"];

/** How surely a Pod gets what it asks for: the less it has said, the less surely. */
export function qosClassOf(pod: JsonObject): "BestEffort" | "Burstable" | "Guaranteed" {
  const containers = [...listAt(pod, "spec", "containers"), ...listAt(pod, "spec", "initContainers")];
  const amounts = containers.map((container) => ({
    requests: counted(objectAt(container, ["resources", "requests"])),
    limits: counted(objectAt(container, ["resources", "limits"])),
  }));
  if (amounts.every(({ requests, limits }) => requests.size + limits.size === 0)) return "BestEffort";
  const isGuaranteed = amounts.every(
    ({ requests, limits }) =>
      limits.size === countedResources.length &&
      countedResources.every(
        (name) => compareQuantities(requests.get(name) ?? limits.get(name) ?? "", limits.get(name) ?? "") === 0,
      ),
  );
  return isGuaranteed ? "Guaranteed" : "Burstable";
}

/** The amounts that count, unless they are nothing. */
function counted(amounts: JsonObject): Map<string, string> {
  const given = countedResources.filter(
    (name) => amounts[name] !== undefined && compareQuantities(String(amounts[name]), "0") > 0,
  );
  return new Map(given.map((name) => [name, String(amounts[name])]));
}
