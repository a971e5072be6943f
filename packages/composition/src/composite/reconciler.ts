// SPDX-License-Identifier: Apache-2.0

import {
  attempt,
  createReconciler,
  type Reconcile,
  type ReconcileContext,
  type ReconcileResult,
  type WatchSpec,
} from "@purlin/kube-controller";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import { isDeleted, withoutFinalizer } from "@purlin/kube-objects/object";
import { fieldManagers, finalizers } from "../composite-resource/constants.ts";
import { deleting, reconcilePaused, reconcileSuccess } from "../composite-resource/standard-conditions.ts";
import { compose } from "./compose.ts";
import {
  type CompositeState,
  controllerName,
  createCompositeState,
  forgetComposite,
  verdictPollMs,
} from "./composite-state.ts";
import { type CompositeContext, steps } from "./context.ts";
import { type CompositeDeps, defaultSettings } from "./deps.ts";
import { reportFailure } from "./report/report-failure.ts";
import { reportResult } from "./report/report-result.ts";
import { baselineOf, writeOutcome } from "./report/status-baseline.ts";
import { readDefinition } from "./select/definition.ts";
import { prepare } from "./select/prepare.ts";
import { admitted, baseWatches } from "./watch/watches.ts";

/** Makes the reconcile function of one kind of composite resource. */
export function createReconcile(deps: CompositeDeps, state: CompositeState): Reconcile {
  const settings = { ...defaultSettings, ...deps.settings };
  const reconcile = createReconciler<CompositeContext>({
    ...deps,
    type: deps.kind.type,
    timeoutMs: settings.deadlineMs,
    statusGraceMs: settings.statusGraceMs,
    readError: "cannot get composite resource",
    async onGone({ key }) {
      forgetComposite(state, key);
      return {};
    },
    async extend(context: ReconcileContext) {
      const definition = await readDefinition(deps, context.signal);
      const baseline = baselineOf(context.stored.object, {
        deps,
        definition,
        circuit: state.breaker.state(context.key),
      });
      return { ...context, deps, settings, state, definition, baseline };
    },
    onPause: pause,
    reconcile: reconcileComposite,
    onFailure: reportFailure,
  });
  return async (key, stopping) => {
    state.selfUpdates.begin(key);
    try {
      return await reconcile(key, stopping);
    } finally {
      const news = state.selfUpdates.end(key).filter((change) => admitted(change, state));
      if (news.length > 0) deps.engine.enqueue(controllerName(deps.kind.definition), key);
    }
  };
}

async function reconcileComposite(context: CompositeContext): Promise<ReconcileResult> {
  if (context.baseline.handledRequest !== undefined) {
    context.emit({ reason: "ReconcileRequestHandled", message: "Handling reconcile request" });
  }
  return isDeleted(context.stored.object) ? finalize(context) : reconcileLive(context);
}

/** A paused XR is not even deleted. */
async function pause(context: CompositeContext): Promise<void> {
  context.emit({ reason: "ReconciliationPaused", message: "Reconciliation is paused via the pause annotation" });
  const baseline = { ...context.baseline, handledRequest: undefined };
  await writeOutcome({ ...context, baseline }, { conditions: [reconcilePaused] });
}

/** Removes the finalizer. The garbage collector deletes composed resources by their owner references. */
async function finalize(context: CompositeContext): Promise<ReconcileResult> {
  const { deps, stored, signal } = context;
  const released = withoutFinalizer(stored.object, finalizers.composite);
  if (released !== stored.object) {
    const options = { fieldManager: fieldManagers.update, signal };
    const updated = await attempt(steps.deletion, () => ignoreNotFound(deps.client.update(released, options)));
    stored.object = updated ?? released;
  }
  forgetComposite(context.state, context.key);
  // Without finalizers the XR is gone, and there is no status to write.
  if ((stored.object.metadata.finalizers ?? []).length === 0) return {};
  await ignoreNotFound(writeOutcome(context, { conditions: [deleting, reconcileSuccess] }));
  return {};
}

async function reconcileLive(context: CompositeContext): Promise<ReconcileResult> {
  const revision = await prepare(context);
  if (revision === undefined) return { requeueAfterMs: verdictPollMs };
  const result = await compose(revision, context);
  return reportResult(result, context);
}

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
