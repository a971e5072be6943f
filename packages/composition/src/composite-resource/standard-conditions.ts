// SPDX-License-Identifier: Apache-2.0
import type { ConditionText } from "@purlin/kube-objects/object";

/** The conditions controllers set on composite resources and claims. */
export const reconcileSuccess: ConditionText = { type: "Synced", status: "True", reason: "ReconcileSuccess" };

/** Synced is False for the reason in the message. */
export function reconcileError(message: string): ConditionText {
  return { type: "Synced", status: "False", reason: "ReconcileError", message };
}

/** A function has not answered yet; the outcome of the reconcile is not known. */
export function waitingForFunction(message: string): ConditionText {
  return { type: "Synced", status: "Unknown", reason: "WaitingForFunction", message };
}

/** The object has the pause annotation. */
export { pausedCondition as reconcilePaused } from "@purlin/kube-objects/object";

/** The object can be used. */
export const available: ConditionText = { type: "Ready", status: "True", reason: "Available" };

/** The object cannot be used yet. */
export function creating(message?: string): ConditionText {
  return { type: "Ready", status: "False", reason: "Creating", ...(message ? { message } : {}) };
}

/** The object is being deleted. */
export const deleting: ConditionText = { type: "Ready", status: "False", reason: "Deleting" };

/** The claim waits for its composite resource. */
export const waiting: ConditionText = {
  type: "Ready",
  status: "False",
  reason: "Waiting",
  message: "Claim is waiting for composite resource to become Ready",
};

/** Condition types that belong to the control plane: functions cannot set them. */
export const systemConditionTypes: ReadonlySet<string> = new Set([
  "Ready",
  "Synced",
  "Healthy",
  "Responsive",
  "UpToDate",
  "Held",
]);
