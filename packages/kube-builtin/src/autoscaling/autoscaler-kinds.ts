// SPDX-License-Identifier: Apache-2.0
import {
  all,
  type Check,
  defineKinds,
  type KindDefinition,
  type KindRow,
  type KindRules,
  selectorInGo,
  statusSubresource,
  withEmptyLists,
} from "@purlin/kube-apiserver/kinds";
import { invalidPrinted } from "@purlin/kube-objects/errors";
import { goJson, isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt } from "@purlin/kube-objects/object";
import {
  inMember,
  notNegativeAt,
  onStatus,
  optionallyOneOf,
  selectorAt,
  sharedConditions,
} from "../checks/rule-checks.ts";
import { policyPrinters } from "../columns/policy-columns.ts";
import { amountErrors, atMostAll } from "../workloads/rolling-update.ts";
import { autoscalerRules } from "./autoscaler-rules.ts";
import { autoscalerConversions, toFirstVersion, toSecondVersion } from "./autoscaler-versions.ts";

const amounts = ["minAvailable", "maxUnavailable"];

/** The spec as the reference prints it. */
function inGo(spec: JsonObject): string {
  const selector = memberAt(spec, ["selector"]);
  const text = (name: string): string => goJson(memberAt(spec, [name]) ?? null);
  const shown = isJsonObject(selector) ? selectorInGo(selector) : "null";
  return `{"MinAvailable":${text("minAvailable")},"Selector":${shown},"MaxUnavailable":${text("maxUnavailable")},"UnhealthyPodEvictionPolicy":${text("unhealthyPodEvictionPolicy")}}`;
}

const budget: Check = all(
  (spec, path) => {
    const isBoth = amounts.every((name) => memberAt(spec, [name]) !== undefined);
    return isBoth ? [invalidPrinted(path, inGo(spec), "minAvailable and maxUnavailable cannot be both set")] : [];
  },
  ...amounts.map(
    (name): Check =>
      (spec, path) => [...amountErrors(spec, name, path), ...atMostAll(spec, name, path)],
  ),
  selectorAt("selector"),
  optionallyOneOf("unhealthyPodEvictionPolicy", ["AlwaysAllow", "IfHealthyBudget"]),
);

/** The rules of PodDisruptionBudgets. */
const disruptionRules: KindRules = {
  acceptsAnyFinalizer: true,
  validate: inMember("spec", budget),
  validateChange: onStatus(
    all(sharedConditions, notNegativeAt("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")),
  ),
};

const autoscaler: KindRow = {
  resource: "horizontalpodautoscalers",
  kind: "HorizontalPodAutoscaler",
  short: ["hpa"],
  categories: ["all"],
  subresources: [statusSubresource],
  storageVersion: "v2",
};

/** Lists that are not the same as no list when they are empty. */
const emptyLists = ["status.currentMetrics", "spec.behavior.scaleUp.policies", "spec.behavior.scaleDown.policies"];

const printer = policyPrinters["HorizontalPodAutoscaler"];

/** HorizontalPodAutoscalers are stored in version 2; version 1 keeps what it lacks in annotations. */
export const autoscalerKinds: readonly KindDefinition[] = [
  ...defineKinds({ group: "autoscaling", version: "v1", priority: 17_500 }, [
    {
      ...autoscaler,
      rules: {
        ...autoscalerRules(toSecondVersion),
        // What version 1 lacks is in annotations, and its target is a metric: both come back in their stored form.
        decode: (object) => toFirstVersion(toSecondVersion(object)),
        conversions: autoscalerConversions,
        toServed: toFirstVersion,
        toStored: toSecondVersion,
        ...(printer && {
          printer: { ...printer, cells: (object, now) => printer.cells(toSecondVersion(object), now) },
        }),
      },
    },
  ]),
  ...defineKinds({ group: "autoscaling", version: "v2", priority: 17_500 }, [
    {
      ...autoscaler,
      rules: withEmptyLists(emptyLists, { ...autoscalerRules(), conversions: autoscalerConversions }),
    },
  ]),
];

/** PodDisruptionBudgets limit how many Pods evictions may take away. */
export const disruptionKinds: readonly KindDefinition[] = defineKinds(
  { group: "policy", version: "v1", priority: 17_100 },
  [
    {
      resource: "poddisruptionbudgets",
      kind: "PodDisruptionBudget",
      short: ["pdb"],
      subresources: [statusSubresource],
      write: { unconditionalUpdate: false, generation: "spec", name: () => [] },
      rules: disruptionRules,
    },
  ],
);
