// SPDX-License-Identifier: Apache-2.0
import type { StepText } from "@purlin/kube-controller";

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
