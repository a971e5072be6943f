// SPDX-License-Identifier: Apache-2.0
export {
  type Condition,
  type ConditionText,
  conditionOf,
  conditionsOf,
  conditionTime,
  sameCondition,
  setCondition,
  stampCondition,
  withConditions,
} from "@purlin/kube-controller/object";

/** Condition types that belong to the control plane: functions cannot set them. */
export const systemConditionTypes: ReadonlySet<string> = new Set([
  "Ready",
  "Synced",
  "Healthy",
  "Responsive",
  "UpToDate",
]);
