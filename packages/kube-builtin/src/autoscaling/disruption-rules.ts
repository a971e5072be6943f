// SPDX-License-Identifier: Apache-2.0
import { all, type Check, type KindRules } from "@purlin/kube-apiserver/kinds";
import { invalidPrinted } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt } from "@purlin/kube-objects/object";
import {
  goStruct,
  inMember,
  notNegativeAt,
  onStatus,
  optionallyOneOf,
  selectorAt,
  sharedConditions,
} from "../checks/rule-checks.ts";
import { amountErrors, atMostAll } from "../workloads/rolling-update.ts";

const amounts = ["minAvailable", "maxUnavailable"];

/** The spec as the reference prints it. */
function inGo(spec: JsonObject): JsonObject {
  return {
    MinAvailable: memberAt(spec, ["minAvailable"]) ?? null,
    Selector: memberAt(spec, ["selector"]) ?? null,
    MaxUnavailable: memberAt(spec, ["maxUnavailable"]) ?? null,
    UnhealthyPodEvictionPolicy: memberAt(spec, ["unhealthyPodEvictionPolicy"]) ?? null,
  };
}

const budget: Check = all(
  (spec, path) => {
    const isBoth = amounts.every((name) => memberAt(spec, [name]) !== undefined);
    return isBoth
      ? [invalidPrinted(path, goStruct(inGo(spec)), "minAvailable and maxUnavailable cannot be both set")]
      : [];
  },
  ...amounts.map(
    (name): Check =>
      (spec, path) => [...amountErrors(spec, name, path), ...atMostAll(spec, name, path)],
  ),
  selectorAt("selector"),
  optionallyOneOf("unhealthyPodEvictionPolicy", ["AlwaysAllow", "IfHealthyBudget"]),
);

/** The rules of PodDisruptionBudgets. */
export const disruptionRules: KindRules = {
  acceptsAnyFinalizer: true,
  validate: inMember("spec", budget),
  validateChange: onStatus(
    all(sharedConditions, notNegativeAt("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")),
  ),
};
