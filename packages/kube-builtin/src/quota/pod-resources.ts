// SPDX-License-Identifier: Apache-2.0
import { listAt } from "@purlin/kube-apiserver/kinds";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { compareQuantities, quantityNanos, quantityText } from "@purlin/kube-objects/typed";

/** Quantities by the name of their resource, as text. */
export type Amounts = Readonly<Record<string, string>>;

/** The quantities in a member of an object. */
export function amountsAt(object: JsonObject, path: readonly string[]): Amounts {
  const member = memberAt(object, path);
  if (!isJsonObject(member)) return {};
  return Object.fromEntries(Object.entries(member).map(([name, value]) => [name, String(value)]));
}

function added(one: Amounts, other: Amounts): Amounts {
  const sums = Object.entries(other).map(([name, value]) => {
    const known = one[name];
    return [name, known === undefined ? value : quantityText(quantityNanos(known) + quantityNanos(value), known)];
  });
  return { ...one, ...(Object.fromEntries(sums) as Amounts) };
}

function largest(one: Amounts, other: Amounts): Amounts {
  const larger = Object.entries(other).filter(([name, value]) => {
    const known = one[name];
    return known === undefined || compareQuantities(value, known) > 0;
  });
  return { ...one, ...Object.fromEntries(larger) };
}

const podLevelResources = new Set(["cpu", "memory"]);

/**
 * What a Pod requests, or its limits: the sum of its containers, and at least what its init containers need while they run. Init
 * containers that keep running count with the containers.
 */
export function podAmounts(pod: JsonObject, member: "requests" | "limits"): Amounts {
  const of = (container: JsonObject): Amounts => amountsAt(container, ["resources", member]);
  let total = listAt(pod, "spec", "containers").map(of).reduce(added, {});
  let sidecars: Amounts = {};
  let initial: Amounts = {};
  for (const container of listAt(pod, "spec", "initContainers")) {
    if (stringAt(container, ["restartPolicy"]) === "Always") {
      total = added(total, of(container));
      sidecars = added(sidecars, of(container));
      initial = largest(initial, sidecars);
    } else {
      initial = largest(initial, added(of(container), sidecars));
    }
  }
  const own = Object.entries(amountsAt(pod, ["spec", "resources", member])).filter(([name]) =>
    podLevelResources.has(name),
  );
  return { ...largest(total, initial), ...Object.fromEntries(own) };
}
