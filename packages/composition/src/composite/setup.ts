// SPDX-License-Identifier: Apache-2.0
import type { Reconcile, WatchSpec } from "@purlin/kube-controller";
import { createCompositeState } from "./composite-state.ts";
import type { CompositeDeps } from "./deps.ts";
import { createReconcile } from "./reconciler.ts";
import { baseWatches } from "./watch/watches.ts";

/** A controller of composite resources, to be started by an engine under the name `composite/<definition>`. */
interface CompositeController {
  readonly reconcile: Reconcile;
  /** The watches it needs from the start. It starts those on dependencies itself. */
  readonly watches: readonly WatchSpec[];
  /** To be called when it has stopped. */
  close(): void;
}

/** Makes the controller of one kind of composite resource. What it remembers goes with it. */
export function createCompositeController(deps: CompositeDeps): CompositeController {
  const state = createCompositeState(deps);
  return {
    reconcile: createReconcile(deps, state),
    watches: baseWatches(deps.kind, state),
    close: () => state.collection.close(),
  };
}
