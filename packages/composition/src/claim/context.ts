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
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import type { RandomInteger } from "@purlin/kube-objects/metadata";
import {
  annotationOf,
  type ConditionText,
  conditionsOf,
  type KubeObject,
  memberAt,
  objectAt,
  setConditions,
  type TypeRef,
  textAt,
  textsAt,
  withConditions,
  withMember,
} from "@purlin/kube-objects/object";
import { annotations, systemConditionTypes } from "../composite-resource/constants.ts";
import type { AddedStatusFields } from "../definition/definition-facts.ts";
import { overlaid } from "./claim-fields.ts";

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

/**
 * The claim with the conditions that functions aimed at it, as its composite resource has them. A type that is listed and
 * has no condition is skipped: an incomplete one would make the whole status unwritable.
 */
export function withCompositeConditions(claim: KubeObject, xr: KubeObject): KubeObject {
  const known = new Map(conditionsOf(xr).map((condition) => [condition.type, condition]));
  const { generation } = claim.metadata;
  const copies = textsAt(xr, ["status", "claimConditionTypes"]).flatMap((type) => {
    const found = systemConditionTypes.has(type) ? undefined : known.get(type);
    if (found === undefined) return [];
    const { observedGeneration: _theirs, ...condition } = found;
    return { ...condition, ...(generation ? { observedGeneration: generation } : {}) };
  });
  const before = conditionsOf(claim);
  const after = setConditions(before, copies);
  return after === before ? claim : withConditions(claim, after);
}

/** The status fields of a composite resource that functions set, without those of the control plane. */
export function sharedStatus(xr: KubeObject, added: AddedStatusFields): JsonObject | undefined {
  const status = memberAt(xr, ["status"]);
  if (status === undefined || status === null) return undefined;
  if (!isJsonObject(status)) throw new Error("composite resource status was not an object");
  const dropped = new Set([
    "conditions",
    "connectionDetails",
    "claimConditionTypes",
    ...(added.claimConditions ? ["claimConditions"] : []),
    ...(added.lastHandledReconcileAt ? ["lastHandledReconcileAt"] : []),
    ...(added.functionRevisions ? ["crossplane"] : []),
  ]);
  return Object.fromEntries(Object.entries(status).filter(([key]) => !dropped.has(key)));
}

const claimsOwn = ["conditions", "connectionDetails"];

/** The claim with the shared status fields of its composite resource. It keeps its own conditions and publication time. */
export function withSharedStatus(claim: KubeObject, shared: JsonObject): KubeObject {
  const status = objectAt(claim, ["status"]);
  const own = Object.entries(status).filter(([key]) => claimsOwn.includes(key));
  return withMember(claim, ["status"], { ...shared, ...Object.fromEntries(own) });
}

/** The same without removing fields of the claim. */
export function withMergedStatus(claim: KubeObject, shared: JsonObject): KubeObject {
  const status = memberAt(claim, ["status"]);
  return isJsonObject(status) ? withMember(claim, ["status"], overlaid(status, shared)) : claim;
}
