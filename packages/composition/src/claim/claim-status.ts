// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import {
  conditionsOf,
  type KubeObject,
  memberAt,
  objectAt,
  setConditions,
  textsAt,
  withConditions,
  withMember,
} from "@purlin/kube-objects/object";
import { systemConditionTypes } from "../composite-resource/standard-conditions.ts";
import type { AddedStatusFields } from "../definition/definition-facts.ts";
import { overlaid } from "./claim-fields.ts";

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
