// SPDX-License-Identifier: Apache-2.0

import type { ReconcileResult } from "@purlin/kube-controller";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import {
  annotationOf,
  type ConditionText,
  conditionOf,
  conditionsOf,
  type KubeObject,
  withMember,
} from "@purlin/kube-objects/object";
import { fieldManagers } from "../../composite-resource/constants.ts";
import { claimRefOf } from "../../composite-resource/crossplane-fields.ts";
import type { HeldResult } from "../compose.ts";
import type { CompositeContext } from "../context.ts";
import { guardAnnotations, heldConditions, heldType, notHeld } from "../guard/guard.ts";
import { startDependencyWatches } from "../watch/watches.ts";
import { writeOutcome } from "./status-baseline.ts";

/** Reports an XR that is held: conditions, and an event when they are new. It is looked at again at intervals, for a changed policy. */
export async function reportHeld({ held, outcome }: HeldResult, context: CompositeContext): Promise<ReconcileResult> {
  const { settings, stored } = context;
  const before = conditionOf(conditionsOf(stored.object), heldType);
  if (settings.realtime) await startDependencyWatches(context);
  const functionRevisions = settings.functionRevisions ? outcome.functionRevisions : undefined;
  await writeOutcome(context, { conditions: heldConditions(held), functionRevisions });
  const isNews = before.status !== "True" || before.message !== held.message;
  if (isNews) context.emit({ type: "Warning", reason: heldType, message: held.message });
  return { requeueAfterMs: settings.pollIntervalMs };
}

/** The condition that ends a hold; none for an XR that was never held. */
export function afterHold(xr: KubeObject): readonly ConditionText[] {
  return conditionsOf(xr).some(({ type }) => type === heldType) ? [notHeld] : [];
}

/**
 * Stores that an approved plan is being applied, before its first deletion. An approval that was given before the XR was held would
 * otherwise look unused to a process that continues after a crash, and approve the same deletion another time.
 */
export async function beginApproved(approved: ConditionText, context: CompositeContext): Promise<void> {
  if (isHeld(context.stored.object)) return;
  // The reconcile is not done yet: a request for it is answered at its end.
  const baseline = { ...context.baseline, handledRequest: undefined };
  await writeOutcome({ ...context, baseline }, { conditions: [approved] });
}

/**
 * Removes the approval of an XR that was held, before its next change is applied and after an approved plan was: it must not approve
 * the same deletion another time. An approval that was given before the XR was held stays until its plan is applied.
 */
export async function settleApproval(context: CompositeContext): Promise<void> {
  const { deps, state, stored, signal } = context;
  const xr = stored.object;
  if (annotationOf(xr, guardAnnotations.approvePlan) === undefined || !isHeld(xr)) return;
  await settleOnClaim(context);
  const used = withMember(xr, ["metadata", "annotations", guardAnnotations.approvePlan], undefined);
  stored.object = await deps.client.update(used, { fieldManager: fieldManagers.update, signal });
  state.selfUpdates.expect(stored.object);
  context.emit({ reason: heldType, message: "Removed the approval: its plan is applied, or nothing is held" });
}

function isHeld(xr: KubeObject): boolean {
  return conditionOf(conditionsOf(xr), heldType).status === "True";
}

/** An approval that was given on the claim is removed there first: the claim would hand it to the XR again. */
async function settleOnClaim({ deps, stored, signal }: CompositeContext): Promise<void> {
  const ref = claimRefOf(stored.object, deps.kind.schema);
  if (ref === undefined) return;
  const claim = await deps.client.get(ref, ref, { signal });
  const approval = claim && annotationOf(claim, guardAnnotations.approvePlan);
  if (approval === undefined || approval !== annotationOf(stored.object, guardAnnotations.approvePlan)) return;
  const patch = { metadata: { annotations: { [guardAnnotations.approvePlan]: null } } };
  await ignoreNotFound(deps.client.patch(ref, patch, { type: "merge", fieldManager: fieldManagers.update, signal }));
}
