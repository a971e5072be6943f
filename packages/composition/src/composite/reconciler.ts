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
import { isDeleted, keyText, withoutFinalizer } from "@purlin/kube-objects/object";
import {
  deleting,
  fieldManagers,
  finalizers,
  reconcilePaused,
  reconcileSuccess,
} from "../composite-resource/constants.ts";
import { compose } from "./compose.ts";
import {
  type CompositeState,
  controllerName,
  createCompositeState,
  forgetComposite,
  verdictPollMs,
} from "./composite-state.ts";
import { type CompositeContext, type CompositeDeps, defaultSettings, readDefinition, steps } from "./context.ts";
import { RunDraft, recordWrites } from "./record/run-draft.ts";
import { reportFailure } from "./report/report-failure.ts";
import { reportHeld, settleApproval } from "./report/report-held.ts";
import { reportResult } from "./report/report-result.ts";
import { baselineOf, writeOutcome } from "./report/status-baseline.ts";
import { prepare } from "./select/prepare.ts";
import { admitted, baseWatches, causeOf } from "./watch/watches.ts";

/** Makes the reconcile function of one kind of composite resource. */
export function createReconcile(deps: CompositeDeps, state: CompositeState): Reconcile {
  const settings = { ...defaultSettings, ...deps.settings };
  const runs = new Map<string, RunDraft>();
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
      const extended = { ...context, deps, settings, state, definition, baseline };
      const run = runs.get(keyText(context.key));
      return run === undefined ? extended : recorded(extended, run);
    },
    onPause: pause,
    reconcile: reconcileComposite,
    onFailure(error, context) {
      context.run?.fail(error);
      return reportFailure(error, context);
    },
  });
  const recording = recordEach(reconcile, { deps, state, runs });
  return async (key, stopping) => {
    state.selfUpdates.begin(key);
    try {
      return await recording(key, stopping);
    } finally {
      state.afterwards.start(key);
      const news = state.selfUpdates.end(key).filter((change) => admitted(change, state));
      for (const change of news) state.causes.note(key, causeOf(change, key));
      if (news.length > 0) deps.engine.enqueue(controllerName(deps.kind.definition), key);
    }
  };
}

interface Recording {
  readonly deps: CompositeDeps;
  readonly state: CompositeState;
  /** The reconciles that are being recorded; an XR has one at a time. */
  readonly runs: Map<string, RunDraft>;
}

/** Records each reconcile, if the control plane records any. */
function recordEach(reconcile: Reconcile, { deps, state, runs }: Recording): Reconcile {
  const { recordRun, clock } = deps;
  if (recordRun === undefined) return reconcile;
  return async (key, stopping) => {
    const run = new RunDraft(state.causes.take(key), clock.now());
    runs.set(keyText(key), run);
    try {
      const result = await reconcile(key, stopping);
      state.causes.expect(key, run.ttlMs === undefined ? "requeue" : "ttl");
      return result;
    } catch (error) {
      run.fail(error);
      state.causes.expect(key, "retry");
      throw error;
    } finally {
      runs.delete(keyText(key));
      const record = run.end(clock.now());
      if (record !== undefined) recordRun(record);
    }
  };
}

/** A context whose writes are noted in the record. */
function recorded(context: CompositeContext, run: RunDraft): CompositeContext {
  const { deps, stored, writeStatus } = context;
  run.read(stored);
  return {
    ...context,
    run,
    deps: { ...deps, client: recordWrites(deps.client, run) },
    async writeStatus(after) {
      const before = stored.object;
      await writeStatus(after);
      run.wroteStatus(before, stored.object);
    },
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
  if (context.run !== undefined) context.run.revision = revision;
  const result = await compose(revision, context);
  if ("held" in result) return reportHeld(result, context);
  if (context.run !== undefined) context.run.ttlMs = result.outcome.ttlMs;
  await settleApproval(context);
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
