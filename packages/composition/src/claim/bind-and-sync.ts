// SPDX-License-Identifier: Apache-2.0

import { attempt, type ReconcileResult } from "@purlin/kube-controller";
import {
  conditionOf,
  conditionsOf,
  type KubeObject,
  memberAt,
  withFinalizer,
  withMember,
} from "@purlin/kube-objects/object";
import { finalizers } from "../composite-resource/constants.ts";
import { claimRefOf } from "../composite-resource/machinery.ts";
import { available, reconcileSuccess, waiting } from "../composite-resource/standard-conditions.ts";
import { claimRefTo } from "./claim-fields.ts";
import { type ClaimPass, tellEvent, tellIn, writeStatus } from "./claim-pass.ts";
import { withCompositeConditions } from "./claim-status.ts";
import { propagateConnection } from "./connection-secret.ts";
import { readSurroundings } from "./shared-references.ts";
import { claimReasons, claimSteps } from "./steps.ts";
import type { Synced } from "./sync.ts";
import { syncClientSide } from "./sync-client-side.ts";
import { syncServerSide } from "./sync-server-side.ts";

/** Brings a claim and its composite resource together, then tells the claim's user how the latter is. */
export async function bindAndSync(pass: ClaimPass, observed: KubeObject | undefined): Promise<ReconcileResult> {
  const observedClaim = pass.stored;
  const { claim, xr } = await attempt(claimSteps.sync, () => sync(pass, observed));
  if (!isBound(pass, observed) && isBound(pass, xr)) {
    tellEvent(pass, { reason: claimReasons.bind, message: "Successfully bound composite resource" });
  }
  // Whether the claim is in sync is about the claim: what its composite resource is up to is told by Ready and by functions.
  const told = withCompositeConditions(tellIn(pass, claim, reconcileSuccess), xr);
  if (conditionOf(conditionsOf(xr), "Ready").status !== "True") {
    if (!isWaiting(observedClaim)) {
      tellEvent(pass, { reason: claimReasons.bind, message: "Composite resource is not yet ready" });
    }
    await writeStatus(pass, tellIn(pass, told, waiting));
    return {};
  }
  const published = await propagate(pass, told, xr);
  await writeStatus(pass, tellIn(pass, published, available));
  return {};
}

/** Whether the claim says already that it waits: what its condition says is not repeated in an event at every reconcile. */
function isWaiting(claim: KubeObject): boolean {
  const ready = conditionOf(conditionsOf(claim), "Ready");
  return ready.status === waiting.status && ready.reason === waiting.reason;
}

async function sync(pass: ClaimPass, xr: KubeObject | undefined): Promise<Synced> {
  const { ports, stored, settings, signal } = pass;
  const surroundings = await readSurroundings(ports, stored, signal);
  const claim = withFinalizer(stored, finalizers.claim);
  const bringTogether = settings.serverSideApply ? syncServerSide : syncClientSide;
  return bringTogether({ pass, claim, xr, surroundings });
}

function isBound({ stored }: ClaimPass, xr: KubeObject | undefined): boolean {
  const ref = xr && claimRefOf(xr, "legacy");
  const own = claimRefTo(stored);
  return ref?.name === own.name && ref.namespace === own.namespace && ref.kind === own.kind;
}

async function propagate(pass: ClaimPass, claim: KubeObject, xr: KubeObject): Promise<KubeObject> {
  const { ports, time, signal } = pass;
  const propagation = await attempt(claimSteps.propagate, () => propagateConnection(ports, claim, xr, signal));
  const path = ["status", "connectionDetails", "lastPublishedTime"];
  if (propagation === "written") {
    const message = "Successfully propagated connection details from composite resource";
    tellEvent(pass, { reason: claimReasons.propagate, message });
    return withMember(claim, path, time);
  }
  // Whoever wrote them may have died before telling the claim.
  const isTold = propagation === "none" || memberAt(claim, path) !== undefined;
  return isTold ? claim : withMember(claim, path, time);
}
