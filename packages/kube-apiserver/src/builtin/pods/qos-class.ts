// SPDX-License-Identifier: Apache-2.0
import { compareQuantities, type JsonObject } from "@purlin/kube-objects";
import { objectAt } from "../read-field.ts";
import { listAt } from "./checks.ts";

const COUNTED = ["cpu", "memory"];

/** How surely a Pod gets what it asks for: the less it has said, the less surely. */
export function qosClassOf(pod: JsonObject): "BestEffort" | "Burstable" | "Guaranteed" {
  const containers = [...listAt(pod, "spec", "containers"), ...listAt(pod, "spec", "initContainers")];
  const amounts = containers.map((container) => ({
    requests: counted(objectAt(container, "resources", "requests")),
    limits: counted(objectAt(container, "resources", "limits")),
  }));
  if (amounts.every(({ requests, limits }) => requests.size + limits.size === 0)) {
    return "BestEffort";
  }
  const isGuaranteed = amounts.every(
    ({ requests, limits }) =>
      limits.size === COUNTED.length &&
      COUNTED.every(
        (name) => compareQuantities(requests.get(name) ?? limits.get(name) ?? "", limits.get(name) ?? "") === 0,
      ),
  );
  return isGuaranteed ? "Guaranteed" : "Burstable";
}

/** The amounts that count, unless they are nothing. */
function counted(amounts: JsonObject): Map<string, string> {
  const given = COUNTED.filter(
    (name) => amounts[name] !== undefined && compareQuantities(String(amounts[name]), "0") > 0,
  );
  return new Map(given.map((name) => [name, String(amounts[name])]));
}
