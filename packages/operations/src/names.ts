// SPDX-License-Identifier: Apache-2.0
// Well-known names of operations. Users, functions and other controllers rely on each of them.
import { type ConditionText, shortened, type TypeRef } from "@purlin/kube-objects/object";

/** The kinds of operations. */
export const kinds: Readonly<Record<"operation" | "cron" | "watch", TypeRef>> = {
  operation: { apiVersion: "ops.crossplane.io/v1alpha1", kind: "Operation" },
  cron: { apiVersion: "ops.crossplane.io/v1alpha1", kind: "CronOperation" },
  watch: { apiVersion: "ops.crossplane.io/v1alpha1", kind: "WatchOperation" },
};

/** The labels of Operations that another object created, with its name as the value. */
export const labels = {
  cron: "ops.crossplane.io/cronoperation",
  watch: "ops.crossplane.io/watchoperation",
} as const;

/** A name longer than this cannot be the value of a label. */
export const longestLabel = 63;

/** Annotations of Operations and of what creates them. */
export const annotations = {
  /** The time for which a CronOperation created the Operation. */
  scheduledTime: "purlin.dev/scheduled-time",
  /** All times of the schedule up to this one are handled by the Operation. */
  handledUntil: "purlin.dev/handled-until",
  /** On a WatchOperation: an update triggers only if one of these fields changes. */
  watchFields: "purlin.dev/watch-fields",
} as const;

/** The finalizer of WatchOperations. */
export const watchFinalizer = "watchoperation.ops.crossplane.io";

/** The key of a pipeline's context that describes its Operation. */
export const operationContext = "purlin.dev/operation";

/** The field manager of plain updates: Crossplane's, so that a control plane that takes over continues with the same owner. */
export const updateManager = "crossplane";

/** Conditions of operations. */
export const conditions: Readonly<Record<"synced" | "running" | "succeeded", ConditionText>> = {
  synced: { type: "Synced", status: "True", reason: "ReconcileSuccess" },
  running: { type: "Succeeded", status: "Unknown", reason: "PipelineRunning" },
  succeeded: { type: "Succeeded", status: "True", reason: "PipelineSuccess" },
};

/** The pipeline will not run again. */
export function pipelineError(message: string): ConditionText {
  return { type: "Succeeded", status: "False", reason: "PipelineError", message: shortened(message) };
}

/** The last reconcile failed. */
export function reconcileError(message: string): ConditionText {
  return { type: "Synced", status: "False", reason: "ReconcileError", message: shortened(message) };
}
