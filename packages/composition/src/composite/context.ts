// SPDX-License-Identifier: Apache-2.0

import type { ReconcileContext } from "@purlin/kube-controller";
import { conditionTime, type KubeObject } from "@purlin/kube-objects/object";
import type { CompositeState } from "./composite-state.ts";
import type { CompositeDeps, CompositeSettings } from "./deps.ts";
import type { Stamp } from "./report/condition-changes.ts";
import type { StatusBaseline } from "./report/status-baseline.ts";
import type { CompositeDefinition } from "./select/definition.ts";

/** One reconcile of one XR. `stored` is the newest version of the XR, from the first read to the last write. */
export interface CompositeContext extends ReconcileContext {
  readonly deps: CompositeDeps;
  readonly settings: CompositeSettings;
  readonly state: CompositeState;
  /** The XRD as it was when the reconcile started. */
  readonly definition: CompositeDefinition;
  readonly baseline: StatusBaseline;
}

/** The time and generation of the conditions of an XR. */
export function stampFor(xr: KubeObject, { clock, timestamp }: CompositeDeps): Stamp {
  return { time: timestamp?.() ?? conditionTime(clock.now()), generation: xr.metadata.generation };
}
