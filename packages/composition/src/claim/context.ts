// SPDX-License-Identifier: Apache-2.0

import type { Clock, Log } from "@purlin/base";
import {
  type ControllerClient,
  type EventRecorder,
  type ReconcileContext,
  type StepText,
  withConditionTexts,
} from "@purlin/kube-controller";
import { during } from "@purlin/kube-objects/errors";
import type { RandomInteger } from "@purlin/kube-objects/metadata";
import { annotationOf, type ConditionText, type KubeObject, type TypeRef, textAt } from "@purlin/kube-objects/object";
import { annotations } from "../composite-resource/constants.ts";

/** One reconcile of a claim. */
export interface ClaimContext extends ReconcileContext {
  readonly deps: ClaimDeps;
  readonly settings: ClaimSettings;
}

/** The annotations of all events about a claim. */
export function eventAnnotations(claim: KubeObject): Readonly<Record<string, string>> {
  const composite = textAt(claim, ["spec", "resourceRef", "name"]);
  return {
    "external-name": annotationOf(claim, annotations.externalName) ?? "",
    ...(composite !== undefined && { "composite-name": composite }),
  };
}

/** Stores the status of a claim with conditions that its controller sets. */
export function writeConditions(
  { deps, writeStatus }: ClaimContext,
  claim: KubeObject,
  ...texts: readonly ConditionText[]
): Promise<void> {
  return during("cannot update claim status", () => writeStatus(withConditionTexts(claim, texts, deps.clock)));
}

/** The steps of a claim's reconcile that can fail. */
type ClaimStep = "observe" | "upgrade" | "sync" | "propagate" | "delete" | "release";

/** Reasons of the events that claims get. */
export const claimReasons = {
  bind: "BindCompositeResource",
  delete: "DeleteCompositeResource",
  propagate: "PropagateConnectionSecret",
  paused: "ReconciliationPaused",
} as const;

/** The event reason and message prefix of each step. */
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

/** The kinds that a claim controller reconciles. */
export interface ClaimKind {
  /** The name of the definition that offers the claims. */
  readonly definition: string;
  readonly claimType: TypeRef;
  /** The kind of composite resource behind each claim. */
  readonly compositeType: TypeRef;
}

/** The settings of claim controllers. */
export interface ClaimSettings {
  /** Server-side apply from claim to composite resource, so that a field removed from the claim is removed from the composite resource. */
  readonly serverSideApply: boolean;
  /**
   * Whether a composite resource that is bound to this very claim, in another version of its kind, counts as bound to it.
   * Otherwise a user who moves a definition to another version has to edit the references.
   */
  readonly acceptOtherVersions: boolean;
}

/** The default settings. */
export const defaultClaimSettings: ClaimSettings = { serverSideApply: true, acceptOtherVersions: false };

/** The dependencies of a claim controller. */
export interface ClaimDeps {
  readonly kind: ClaimKind;
  readonly client: ControllerClient;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings?: Partial<ClaimSettings> | undefined;
  /** The source of random names of composite resources. */
  readonly random?: RandomInteger | undefined;
}
