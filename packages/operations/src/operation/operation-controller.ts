// SPDX-License-Identifier: Apache-2.0
import { inTurns } from "@purlin/base";
import { RunDraft, recordWrites } from "@purlin/composition/pipeline";
import type { CacheChange } from "@purlin/kube-client/objects";
import {
  attempt as attemptStep,
  defineController,
  type ReconcileContext,
  ReconcileError,
  type ReconcileResult,
  reportPaused,
  type WatchingController,
  withConditionTexts,
  writeStatus,
} from "@purlin/kube-controller";
import { isConflict } from "@purlin/kube-objects/errors";
import {
  type ConditionText,
  isDeleted,
  type KubeObject,
  keyOf,
  type ObjectKey,
  withMember,
} from "@purlin/kube-objects/object";
import type { OperationDeps } from "../deps.ts";
import { conditions, kinds, pipelineError, reconcileError } from "../names.ts";
import { failuresOf, isDone, isSameRequest, limitReached, withProgress } from "./operation-status.ts";
import { Attempt, checkCapabilities, InputError, runOperation } from "./run-operation.ts";

/** The name of the controller, and the source of its events. */
export const operationControllerName = "ops/operation.ops.crossplane.io";

const defaultDeadlineMs = 120_000;
/** How long after the deadline the status may still be written: a failure that is not stored is retried for ever. */
const statusGraceMs = 20_000;

const statusStep = { reason: "UpdateStatus", text: "cannot update status of Operation" } as const;

interface OperationContext extends ReconcileContext {
  /** Their client notes the writes of the pipeline in the record. */
  readonly deps: OperationDeps;
  /** The client of the status. */
  readonly client: OperationDeps["client"];
  readonly attempt: Attempt;
  readonly run: RunDraft | undefined;
}

/** The controller that runs Operations. */
export function createOperationController(deps: OperationDeps): WatchingController {
  const { client, events, clock, log, backoff, recordRun } = deps;
  const running = new RunningAttempts();
  return defineController<OperationContext>({
    ...{ client, events, clock, log, backoff, statusGraceMs },
    name: operationControllerName,
    type: kinds.operation,
    timeoutMs: deps.deadlineMs ?? defaultDeadlineMs,
    readError: "cannot get Operation",
    // One that is done never runs again: there is nothing to pause.
    onPause: async (context) => (isDone(context.stored.object) ? undefined : reportPaused(context, clock)),
    extend(context) {
      const run = recordRun && new RunDraft(`attempt ${failuresOf(context.stored.object) + 1}`, clock.now());
      run?.read(context.stored);
      const recording = run === undefined ? deps : { ...deps, client: recordWrites(client, run) };
      return { ...context, deps: recording, client, attempt: new Attempt(), run };
    },
    reconcile: (context) => reconcileOperation(context, running),
    async onFailure(error, context) {
      context.run?.fail(error);
      if (!isDone(context.stored.object)) await storeFailure(error, context);
    },
    watches: [{ type: "Operation", object: kinds.operation, keys: (change) => running.keysOf(change) }],
  });
}

/** The attempts that run now. One whose Operation is deleted is aborted, so that it applies nothing more. */
class RunningAttempts {
  readonly #byUid = new Map<string, AbortController>();

  /** The Operation that a change wakes: not one of which only the status changed. */
  keysOf(change: CacheChange): readonly ObjectKey[] {
    const { object } = change;
    if (change.type === "deleted" || isDeleted(object)) {
      this.#byUid.get(object.metadata.uid ?? "")?.abort(new Error("the Operation is deleted"));
      return [];
    }
    if (change.type === "updated" && isSameRequest(change.previous, object)) return [];
    return [keyOf(object)];
  }

  /** Runs an attempt; resolves to whether the Operation is still there. */
  async run({ stored, signal }: OperationContext, work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    const { uid = "" } = stored.object.metadata;
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    this.#byUid.set(uid, controller);
    try {
      await work(controller.signal);
      return true;
    } catch (error) {
      if (controller.signal.aborted && !signal.aborted) return false;
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
      this.#byUid.delete(uid);
    }
  }
}

async function reconcileOperation(context: OperationContext, running: RunningAttempts): Promise<ReconcileResult> {
  const { stored, deps } = context;
  if (isDeleted(stored.object) || isDone(stored.object)) return {};
  const limit = limitReached(stored.object);
  if (limit !== undefined) {
    await finish(context, limit);
    return {};
  }
  try {
    await claim(context);
    const isThere = await running.run(context, (signal) => attemptOnce(context, signal));
    if (isThere) await finish(context, conditions.succeeded);
    else context.run?.fail(new Error("aborted: the Operation is deleted"));
  } catch (error) {
    context.run?.fail(error);
    if (error instanceof InputError) {
      await finish(context, pipelineError(error.message));
      return {};
    }
    throw error;
  } finally {
    const record = context.run?.end(deps.clock.now());
    if (record !== undefined) deps.recordRun?.(record);
  }
  return {};
}

/**
 * Writes that the pipeline runs, at every attempt and also when the status says so already: with a stale Operation that is a conflict,
 * and no function is called twice.
 */
async function claim(context: OperationContext): Promise<void> {
  const { stored, deps } = context;
  await attemptStep(statusStep, () =>
    update(context, withConditionTexts(stored.object, [conditions.running], deps.clock)),
  );
}

async function attemptOnce(context: OperationContext, signal: AbortSignal): Promise<void> {
  const { stored, deps, attempt, run, emit, timeoutMs } = context;
  const validity = await attemptStep({ reason: "InvalidPipeline", text: "function capability check failed" }, () =>
    checkCapabilities(stored.object, deps, signal),
  );
  stored.object = withConditionTexts(stored.object, [validity], deps.clock);
  if (validity.status !== "True") {
    throw new ReconcileError("InvalidPipeline", `function capability check failed: ${validity.message}`);
  }
  // Functions must answer a moment before the deadline: only then is it known which one was too slow.
  const deadline = context.deadline - Math.min(1000, timeoutMs / 10);
  await runOperation(stored.object, deps, { attempt, signal, deadline, timeoutMs, run, emit });
}

async function finish(context: OperationContext, end: ConditionText): Promise<void> {
  const { stored, attempt, deps } = context;
  const after = await inTurns(withProgress(stored.object, attempt));
  const done = withConditionTexts(after, [conditions.synced, end], deps.clock);
  await attemptStep(statusStep, () => report(context, done));
}

async function storeFailure(error: Error, context: OperationContext): Promise<void> {
  const { stored, attempt, deps } = context;
  const counted = withMember(stored.object, ["status", "failures"], failuresOf(stored.object) + 1);
  const failed = withConditionTexts(counted, [reconcileError(error.message)], deps.clock);
  try {
    await report(context, await inTurns(withProgress(failed, attempt)));
  } catch (refused) {
    // Outputs may be too large to be stored. A failure that is not counted would be retried forever.
    if (isConflict(refused)) throw refused;
    await report(context, failed);
  }
}

/** Writes the outcome of an attempt. An edit meanwhile must not make the pipeline run again. */
async function report(context: OperationContext, outcome: KubeObject): Promise<void> {
  const { stored, client, statusSignal: signal } = context;
  let after = outcome;
  for (let tries = 1; ; tries++) {
    try {
      return await update(context, after);
    } catch (error) {
      if (!isConflict(error) || tries === 3) throw error;
      const newest = await client.live.get(kinds.operation, keyOf(after), { signal });
      if (newest.metadata.uid !== after.metadata.uid || isDone(newest)) throw error;
      stored.object = newest;
      after = withMember(newest, ["status"], outcome["status"]);
    }
  }
}

async function update(
  { stored, client, statusSignal: signal, run }: OperationContext,
  after: KubeObject,
): Promise<void> {
  const before = stored.object;
  stored.object = await writeStatus(client, { before, after, signal });
  run?.wroteStatus(before, stored.object);
}
