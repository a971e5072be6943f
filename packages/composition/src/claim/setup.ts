// SPDX-License-Identifier: Apache-2.0
import { eventSources } from "../composite-resource/constants.ts";
import type { InstanceController } from "../definition/ports.ts";
import type { ClaimPorts } from "./ports.ts";
import { claimReconciler } from "./reconciler.ts";
import { claimWatches } from "./watches.ts";

/** The controller of the claims that one definition offers. */
export function createClaimController(ports: ClaimPorts): InstanceController {
  const events = ports.events.with(eventSources.claim, `claim/${ports.kind.definition}`);
  return { reconcile: claimReconciler({ ...ports, events }), watches: claimWatches(ports.kind) };
}
