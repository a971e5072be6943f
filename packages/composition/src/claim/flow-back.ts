// SPDX-License-Identifier: Apache-2.0

import type { JsonValue } from "@purlin/kube-objects/json";
import { annotationOf, type KubeObject, withMember } from "@purlin/kube-objects/object";
import { annotations } from "../composite-resource/constants.ts";
import { machineryField, revisionRefOf, updatePolicyOf, withMachinery } from "../composite-resource/machinery.ts";

/** What decides over the references that a claim and its composite resource share. */
export interface SharedReferences {
  /** The definition names the Composition of every composite resource. */
  readonly isCompositionEnforced: boolean;
  /** The claim names a revision that is missing, or that its own selector does not match. */
  readonly isRevisionContradicted: boolean;
}

/** The claim with what its composite resource knows better: who it is, what it was given, what was selected for it. */
export function withFlowBack(claim: KubeObject, xr: KubeObject, shared: SharedReferences): KubeObject {
  const externalName = annotationOf(xr, annotations.externalName);
  const named =
    externalName === undefined
      ? claim
      : withMember(claim, ["metadata", "annotations", annotations.externalName], externalName);
  const fields = ["compositionRef", "compositionRevisionSelector", "compositionRevisionRef"] as const;
  return fields.reduce((to, field) => {
    const theirs = machineryField(xr, "legacy", field);
    const isWanted = theirs !== undefined && flowsBack(field, { claim, xr, shared });
    return isWanted ? withMachinery(to, "legacy", { [field]: theirs }) : to;
  }, named);
}

type FlowingField = "compositionRef" | "compositionRevisionSelector" | "compositionRevisionRef";

function flowsBack(
  field: FlowingField,
  { claim, xr, shared }: { readonly claim: KubeObject; readonly xr: KubeObject; readonly shared: SharedReferences },
): boolean {
  const isMissing = machineryField(claim, "legacy", field) === undefined;
  if (field === "compositionRef") return isMissing || shared.isCompositionEnforced;
  if (field === "compositionRevisionSelector") return isMissing;
  return isRevisionTheirs(xr, shared);
}

/** Under Automatic the composite resource moves by itself; under Manual the claim decides, unless it contradicts itself. */
function isRevisionTheirs(xr: KubeObject, shared: SharedReferences): boolean {
  const policy = updatePolicyOf(xr, "legacy");
  return policy === "Automatic" || (policy === "Manual" && shared.isRevisionContradicted);
}

/** The revision a claim makes its composite resource use; undefined: that is not for the claim to say. */
export function revisionToSend(
  claim: KubeObject,
  xr: KubeObject | undefined,
  shared: SharedReferences,
): JsonValue | undefined {
  if (xr === undefined || updatePolicyOf(xr, "legacy") !== "Manual") return undefined;
  // Saying nothing would take a reference away that the claim once set, and leave the composite resource without one.
  const holder = shared.isRevisionContradicted ? xr : claim;
  return revisionRefOf(holder, "legacy") === undefined
    ? undefined
    : machineryField(holder, "legacy", "compositionRevisionRef");
}
