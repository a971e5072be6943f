// SPDX-License-Identifier: Apache-2.0
import { type ConditionText, conditionOf, conditionsOf } from "./conditions.ts";

/** The condition of a paused object. */
export const pausedCondition: ConditionText = {
  type: "Synced",
  status: "False",
  reason: "ReconcilePaused",
  message: "Reconciliation (including deletion) is paused via the pause annotation",
};

/** Whether the object still says that it is paused. */
export function saysPaused(object: object): boolean {
  return conditionOf(conditionsOf(object), pausedCondition.type).reason === pausedCondition.reason;
}
