// SPDX-License-Identifier: Apache-2.0
import type { StepText } from "@purlin/kube-controller";

/** The steps of a claim's reconcile that can fail. */
type ClaimStep = "observe" | "upgrade" | "sync" | "propagate" | "delete" | "release";

/** Reasons of the events that claims get. */
export const claimReasons = {
  bind: "BindCompositeResource",
  delete: "DeleteCompositeResource",
  propagate: "PropagateConnectionSecret",
  paused: "ReconciliationPaused",
} as const;

/** What users read about each step that fails. */
export const claimSteps: Readonly<Record<ClaimStep, StepText>> = {
  observe: { reason: claimReasons.bind, text: "cannot get bound composite resource" },
  upgrade: {
    reason: claimReasons.bind,
    text: "cannot upgrade composite resource's managed fields from client-side to server-side apply",
  },
  sync: { reason: claimReasons.bind, text: "cannot bind and sync claim with composite resource" },
  propagate: {
    reason: claimReasons.propagate,
    text: "cannot propagate connection details from composite resource",
  },
  delete: { reason: claimReasons.delete, text: "cannot delete bound composite resource" },
  release: { reason: claimReasons.delete, text: "cannot remove finalizer from claim" },
};
