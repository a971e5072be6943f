// SPDX-License-Identifier: Apache-2.0

import { attempt, type ReconcileResult } from "@purlin/kube-controller";
import { ignoreNotFound } from "@purlin/kube-objects";
import { isDeleted, type KubeObject, keyOf, textAt, withoutFinalizer } from "@purlin/kube-objects/object";
import { fieldManagers, finalizers } from "../composite-resource/constants.ts";
import { deleting, reconcileSuccess } from "../composite-resource/standard-conditions.ts";
import { type ClaimPass, tellEvent, tellIn, writeStatus } from "./claim-pass.ts";
import { claimReasons, claimSteps } from "./steps.ts";

/**
 * Deletes the composite resource of a claim that is being deleted, then lets the claim go: at once, or, when its policy is
 * Foreground, after the composite resource and all it composed are gone.
 */
export async function deleteClaim(pass: ClaimPass, xr: KubeObject | undefined): Promise<ReconcileResult> {
  const isForeground = textAt(pass.stored, ["spec", "compositeDeletePolicy"]) === "Foreground";
  if (xr !== undefined && isForeground && isDeleted(xr)) {
    await writeStatus(pass, tellIn(pass, pass.stored, deleting));
    return { requeue: true };
  }
  if (xr !== undefined) await attempt(claimSteps.delete, () => deleteComposite(pass, xr, isForeground));
  if (xr !== undefined && isForeground) return { requeue: true };
  tellEvent(pass, { reason: claimReasons.delete, message: "Successfully deleted composite resource" });
  const isLeft = await attempt(claimSteps.release, () => release(pass));
  // Somebody else's finalizer keeps the claim, so somebody may still look at it.
  if (isLeft) await ignoreNotFound(writeStatus(pass, tellIn(pass, pass.stored, deleting, reconcileSuccess)));
  return {};
}

async function deleteComposite({ ports, signal }: ClaimPass, xr: KubeObject, isForeground: boolean): Promise<void> {
  const { uid = "" } = xr.metadata;
  const propagation = isForeground ? ({ propagationPolicy: "Foreground" } as const) : {};
  const target = { ...ports.kind.compositeType, ...keyOf(xr) };
  await ignoreNotFound(ports.client.delete(target, { ...propagation, preconditions: { uid }, signal }));
}

/** Whether the claim is still there afterwards. */
async function release(pass: ClaimPass): Promise<boolean> {
  const { ports, stored, signal } = pass;
  const released = withoutFinalizer(stored, finalizers.claim);
  if (released === stored) return true;
  const options = { fieldManager: fieldManagers.update, signal };
  pass.stored = (await ignoreNotFound(ports.client.update(released, options))) ?? stored;
  return (pass.stored.metadata.finalizers ?? []).length > 0 && pass.stored !== stored;
}
