// SPDX-License-Identifier: Apache-2.0

import type { ReconcileContext, StepText } from "@purlin/kube-controller";
import { conditionTime, type KubeObject } from "@purlin/kube-objects/object";
import type { CompositeState } from "./composite-state.ts";
import type { CompositeDeps, CompositeSettings } from "./deps.ts";
import type { RunDraft } from "./record/run-draft.ts";
import type { Stamp } from "./report/status-after.ts";
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
  /** The record of this reconcile; undefined when it is not recorded. */
  readonly run?: RunDraft | undefined;
}

/** The time and generation of the conditions of an XR. */
export function stampFor(xr: KubeObject, { clock, timestamp }: CompositeDeps): Stamp {
  return { time: timestamp?.() ?? conditionTime(clock.now()), generation: xr.metadata.generation };
}

/** The steps of a reconcile that can fail apart from composing. */
type StepName =
  | "finalizer"
  | "deletion"
  | "composition"
  | "revisionSelector"
  | "revision"
  | "configure"
  | "watch"
  | "publish";

/** The event reason and message prefix of each step, in order. */
export const steps: Readonly<Record<StepName, StepText>> = {
  finalizer: { reason: "InitializeCompositeResource", text: "cannot add composite resource finalizer" },
  deletion: { reason: "DeleteCompositeResource", text: "cannot remove composite resource finalizer" },
  composition: { reason: "SelectComposition", text: "cannot select Composition" },
  revisionSelector: { reason: "SelectComposition", text: "cannot select CompositionRevision" },
  revision: { reason: "ComposeResources", text: "cannot fetch Composition" },
  configure: { reason: "ComposeResources", text: "cannot configure composite resource" },
  watch: { reason: "WatchComposedResources", text: "cannot watch resource for changes" },
  publish: { reason: "PublishConnectionSecret", text: "cannot publish connection details" },
};
