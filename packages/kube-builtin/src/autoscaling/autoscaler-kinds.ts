// SPDX-License-Identifier: Apache-2.0
import { defineKinds, type KindDefinition, type KindRow, statusSubresource } from "@purlin/kube-apiserver/kinds";
import { policyPrinters } from "../columns/policy-columns.ts";
import { autoscalerRules } from "./autoscaler-rules.ts";
import { toFirstVersion, toSecondVersion } from "./autoscaler-versions.ts";
import { disruptionRules } from "./disruption-rules.ts";

const autoscaler: KindRow = {
  resource: "horizontalpodautoscalers",
  kind: "HorizontalPodAutoscaler",
  short: ["hpa"],
  categories: ["all"],
  subresources: [statusSubresource],
  storageVersion: "v2",
};

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
        toServed: toFirstVersion,
        toStored: toSecondVersion,
        ...(printer && {
          printer: { ...printer, cells: (object, now) => printer.cells(toSecondVersion(object), now) },
        }),
      },
    },
  ]),
  ...defineKinds({ group: "autoscaling", version: "v2", priority: 17_500 }, [
    { ...autoscaler, rules: autoscalerRules() },
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
