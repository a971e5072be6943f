// SPDX-License-Identifier: Apache-2.0

import { Ready } from "@purlin/function-protocol";
import type { EventText } from "@purlin/kube-controller";
import { compareUtf8 } from "@purlin/kube-objects";
import type { ConditionText } from "@purlin/kube-objects/object";
import { available, creating, reconcileError, reconcileSuccess } from "../../composite-resource/standard-conditions.ts";
import type { ComposedResource } from "../apply/apply-composed.ts";

/** How the XR is after a pass that composed everything. */
export interface Readiness {
  readonly conditions: readonly ConditionText[];
  readonly events: readonly EventText[];
  /** Whether nothing is left to wait for. */
  readonly settled: boolean;
}

/** Derives Synced and Ready. What the pipeline says about the XR itself beats what its resources say. */
export function readinessOf(resources: readonly ComposedResource[], composite: Ready | undefined): Readiness {
  // One without a name, which only render lets through, goes by its position.
  const named = resources.map(({ name, ...state }, index) => ({ ...state, name: name || String(index) }));
  const unsynced = named.filter(({ synced }) => !synced).map(({ name }) => name);
  const unready = named.filter(({ ready }) => !ready).map(({ name }) => name);
  const synced = unsynced.length === 0 ? reconcileSuccess : reconcileError(`Unsynced resources: ${listed(unsynced)}`);
  return {
    conditions: [synced, readyCondition(unready, composite)],
    events: [
      ...unsynced.map((name) => told(`Composed resource "${name}" is not yet valid`)),
      ...unready.map((name) => told(`Composed resource "${name}" is not yet ready`)),
    ],
    settled: unsynced.length === 0 && unready.length === 0,
  };
}

function readyCondition(unready: readonly string[], composite: Ready | undefined): ConditionText {
  if (composite === Ready.READY_TRUE) return available;
  if (composite === Ready.READY_FALSE) return creating();
  return unready.length === 0 ? available : creating(`Unready resources: ${listed(unready)}`);
}

function told(message: string): EventText {
  return { type: "Normal", reason: "ComposeResources", message };
}

/** Names for a reader: three at most, in a stable order. */
export function listed(names: readonly string[]): string {
  const sorted = names.toSorted(compareUtf8);
  const first = sorted.slice(0, 3).join(", ");
  if (sorted.length > 3) return `${first}, and ${sorted.length - 3} more`;
  return sorted.length === 3 ? `${sorted[0]}, ${sorted[1]}, and ${sorted[2]}` : first;
}
