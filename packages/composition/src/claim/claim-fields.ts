// SPDX-License-Identifier: Apache-2.0
// The fields that a claim passes to its composite resource, and the fields that it gets back.

import { isJsonObject, type JsonObject, type JsonValue, ownValue, setOwnValue } from "@purlin/kube-objects/json";
import { annotationOf, type KubeObject, objectAt, withMember } from "@purlin/kube-objects/object";
import { annotations, labels } from "../composite-resource/constants.ts";
import {
  type ClaimRef,
  crossplaneField,
  revisionRefOf,
  updatePolicyOf,
  withCrossplaneFields,
} from "../composite-resource/crossplane-fields.ts";

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
