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
import { isJsonObject, type JsonObject, type JsonValue, ownValue, setOwnValue } from "@purlin/kube-objects/json";
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
import { annotations, labels, systemConditionTypes } from "../composite-resource/constants.ts";
import {
  type ClaimRef,
  crossplaneField,
  revisionRefOf,
  updatePolicyOf,
  withCrossplaneFields,
} from "../composite-resource/crossplane-fields.ts";
import type { AddedStatusFields } from "../definition/definition-facts.ts";

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

// The fields that a claim passes to its composite resource, and the fields that it gets back.

/** The reference from a composite resource to this claim. */
export function claimRefTo({ apiVersion, kind, metadata }: KubeObject): ClaimRef {
  return { apiVersion, kind, namespace: metadata.namespace ?? "", name: metadata.name ?? "" };
}

/** Whether a key belongs to Kubernetes: such labels and annotations stay on the claim. */
function isReserved(key: string): boolean {
  const prefix = key.split("/", 1)[0] ?? "";
  return prefix.endsWith("kubernetes.io") || prefix.endsWith("k8s.io");
}

function withoutReserved(map: JsonObject): Readonly<Record<string, string>> {
  const kept = Object.entries(map).filter(([key]) => !isReserved(key));
  return Object.fromEntries(kept) as Record<string, string>;
}

/** The labels that a claim sets on its composite resource. */
export function labelsFor(claim: KubeObject): Readonly<Record<string, string>> {
  const { name = "", namespace = "" } = claim.metadata;
  const own = { [labels.claimName]: name, [labels.claimNamespace]: namespace };
  return { ...withoutReserved(objectAt(claim, ["metadata", "labels"])), ...own };
}

/** The annotations that a claim sets on its composite resource. An external name of the composite resource is kept. */
export function annotationsFor(claim: KubeObject, externalName: string | undefined): Readonly<Record<string, string>> {
  const kept = withoutReserved(objectAt(claim, ["metadata", "annotations"]));
  return externalName === undefined ? kept : { ...kept, [annotations.externalName]: externalName };
}

/** Fields of a claim that are not copied to its composite resource. */
const claimOnly = [
  "compositeDeletePolicy",
  "resourceRef",
  "writeConnectionSecretToRef",
  "compositionRevisionRef",
  "resourceRefs",
  "claimRef",
];

/** The spec that a claim passes to its composite resource, without references to revisions. */
export function specFor(claim: KubeObject, isCompositionEnforced: boolean): JsonObject {
  const dropped = new Set(isCompositionEnforced ? [...claimOnly, "compositionRef"] : claimOnly);
  return Object.fromEntries(Object.entries(objectAt(claim, ["spec"])).filter(([key]) => !dropped.has(key)));
}

/** Fields of a composite resource's spec that are never copied to its claim. */
export const compositeOnly: readonly string[] = ["claimRef", "resourceRefs", "writeConnectionSecretToRef"];

/** The facts that decide which references a claim and its composite resource share. */
export interface SharedReferences {
  /** The definition names the Composition of every composite resource. */
  readonly isCompositionEnforced: boolean;
  /** The claim names a revision that is missing, or that its own selector does not match. */
  readonly isRevisionContradicted: boolean;
}

/** The claim with the fields that its composite resource decides: external name, Composition and revision. */
export function withFlowBack(claim: KubeObject, xr: KubeObject, shared: SharedReferences): KubeObject {
  const externalName = annotationOf(xr, annotations.externalName);
  const named =
    externalName === undefined
      ? claim
      : withMember(claim, ["metadata", "annotations", annotations.externalName], externalName);
  const fields = ["compositionRef", "compositionRevisionSelector", "compositionRevisionRef"] as const;
  return fields.reduce((to, field) => {
    const theirs = crossplaneField(xr, "legacy", field);
    const isWanted = theirs !== undefined && flowsBack(field, { claim, xr, shared });
    return isWanted ? withCrossplaneFields(to, "legacy", { [field]: theirs }) : to;
  }, named);
}

type FlowingField = "compositionRef" | "compositionRevisionSelector" | "compositionRevisionRef";

function flowsBack(
  field: FlowingField,
  { claim, xr, shared }: { readonly claim: KubeObject; readonly xr: KubeObject; readonly shared: SharedReferences },
): boolean {
  const isMissing = crossplaneField(claim, "legacy", field) === undefined;
  if (field === "compositionRef") return isMissing || shared.isCompositionEnforced;
  if (field === "compositionRevisionSelector") return isMissing;
  return isRevisionTheirs(xr, shared);
}

/** Under Automatic the composite resource moves by itself; under Manual the claim decides, unless it contradicts itself. */
function isRevisionTheirs(xr: KubeObject, shared: SharedReferences): boolean {
  const policy = updatePolicyOf(xr, "legacy");
  return policy === "Automatic" || (policy === "Manual" && shared.isRevisionContradicted);
}

/** The revision that a claim sets on its composite resource; undefined when the claim does not decide it. */
export function revisionToSend(
  claim: KubeObject,
  xr: KubeObject | undefined,
  shared: SharedReferences,
): JsonValue | undefined {
  if (xr === undefined || updatePolicyOf(xr, "legacy") !== "Manual") return undefined;
  // Leaving it out would remove a reference that the claim once applied, and leave the composite resource without one.
  const holder = shared.isRevisionContradicted ? xr : claim;
  return revisionRefOf(holder, "legacy") === undefined
    ? undefined
    : crossplaneField(holder, "legacy", "compositionRevisionRef");
}

/** Merges two objects deeply: values of the second win, and no field is removed. */
export function overlaid(under: JsonObject, over: JsonObject): JsonObject {
  const merged: Record<string, JsonValue> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = ownValue(under, key);
    setOwnValue(merged, key, isJsonObject(below) && isJsonObject(value) ? overlaid(below, value) : value);
  }
  return merged;
}
