// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
import { during, textOf } from "@purlin/kube-objects/errors";
import { jsonEqual } from "@purlin/kube-objects/json";
import {
  type ConditionText,
  conditionsOf,
  conditionTime,
  isPaused,
  type KubeObject,
  memberAt,
  type ObjectKey,
  pausedCondition,
  setConditions,
  stampCondition,
  type TypeRef,
  withConditions,
} from "@purlin/kube-objects/object";
import type { ControllerClient } from "../client/create-controller-client.ts";
import {
  type ConflictStreaks,
  createConflictStreaks,
  isReconcileError,
  isTerminalError,
  type Reconcile,
  type ReconcileError,
  type ReconcileResult,
} from "../controller/controller.ts";
import { retryBackoff, type WatchingController, type WatchSpec } from "../engine/controller-engine.ts";
import type { EventRecorder, EventText } from "../events/event-recorder.ts";
import type { Backoff } from "../queue/work-queue.ts";

/** An event about the object that is reconciled; Normal unless it has another type. */
type ReconcileEvent = Pick<EventText, "reason" | "message"> & Partial<Pick<EventText, "type">>;

/** One reconcile of one object. */
export interface ReconcileContext extends ReconcileSignals {
  readonly key: ObjectKey;
  /** The newest version of the object. Code that stores a newer one puts it here: failures and events are reported on it. */
  readonly stored: { object: KubeObject };
  readonly events: EventRecorder;
  /** Emits an event about the object. */
  emit(event: ReconcileEvent): void;
  /** Stores the status of the object unless it equals the stored one. Works for a grace period after the deadline. */
  writeStatus(after: KubeObject): Promise<void>;
}

/** How objects of one kind are reconciled. `C` is the context of one reconcile, with whatever `extend` adds to it. */
export interface ReconcilerDefinition<C extends ReconcileContext = ReconcileContext> extends DeadlineOptions {
  readonly client: Pick<ControllerClient, "get" | "update">;
  readonly events: EventRecorder;
  readonly log: Log;
  /** The kind of the objects. */
  readonly type: TypeRef;
  /** The prefix of an error that reading the object causes. */
  readonly readError?: string | undefined;
  /** Annotations of all events about an object, from the object as it is when its reconcile starts. */
  readonly eventAnnotations?: ((object: KubeObject) => Readonly<Record<string, string>>) | undefined;
  /**
   * Whether a paused object is reconciled: it is unless given. "stop" leaves it alone, "report" says so in an event and in the condition
   * Synced, and a function reports it in its own way.
   */
  readonly onPause?: "stop" | "report" | ((context: C) => Promise<void>) | undefined;
  /** The object no longer exists. */
  readonly onGone?: ((context: Omit<ReconcileContext, "stored">) => Promise<ReconcileResult>) | undefined;
  /** Makes the context of one reconcile. */
  readonly extend?: ((context: ReconcileContext) => C | Promise<C>) | undefined;
  readonly reconcile: (context: C) => Promise<ReconcileResult>;
  /** Writes the failure into the status, after its event. Best effort: the next reconcile reports the failure again. */
  readonly onFailure?: ((error: ReconcileError, context: C) => Promise<void> | void) | undefined;
}

/** A controller of our own kinds. */
interface ControllerDefinition<C extends ReconcileContext = ReconcileContext> extends ReconcilerDefinition<C> {
  /** Its name, and the source of its events. */
  readonly name: string;
  readonly watches: readonly WatchSpec[];
  readonly backoff?: Backoff | undefined;
}

/** Makes a controller, to be run by an engine. */
export function defineController<C extends ReconcileContext>(definition: ControllerDefinition<C>): WatchingController {
  const { name, watches, backoff = retryBackoff } = definition;
  const reconcile = createReconciler({ ...definition, events: definition.events.with(name) });
  return { spec: { name, reconcile, backoff }, watches };
}

/**
 * Makes the reconcile function of a controller. It reads the object, enforces the deadline, honors pauses, and reports a ReconcileError
 * as an event and through `onFailure`. Conflicts are reported only when they return again and again; nothing is reported when the
 * controller stops. A TerminalError ends the reconcile without a retry.
 */
export function createReconciler<C extends ReconcileContext>(definition: ReconcilerDefinition<C>): Reconcile {
  const conflicts = createConflictStreaks();
  return async (key, stopping) => {
    try {
      const result = await withDeadline(definition, stopping, (signals) =>
        reconcileOne({ ...definition, conflicts }, key, signals),
      );
      conflicts.ended(key);
      return result;
    } catch (error) {
      conflicts.ended(key, error);
      throw error;
    }
  };
}

interface Reconciler<C extends ReconcileContext> extends ReconcilerDefinition<C> {
  readonly conflicts: ConflictStreaks;
}

async function reconcileOne<C extends ReconcileContext>(
  reconciler: Reconciler<C>,
  key: ObjectKey,
  signals: ReconcileSignals,
): Promise<ReconcileResult> {
  const { client, type, readError, onPause } = reconciler;
  const read = (): Promise<KubeObject | undefined> => client.get(type, key, { signal: signals.signal });
  const object = await (readError === undefined ? read() : during(readError, read));
  const known = object ?? ({ ...type, metadata: { ...key } } as KubeObject);
  const base = contextOf(reconciler, { key, signals, stored: { object: known } });
  if (object === undefined) return (await reconciler.onGone?.(base)) ?? {};
  const context = ((await reconciler.extend?.(base)) ?? base) as C;
  try {
    if (onPause === undefined || !isPaused(object)) return await reconciler.reconcile(context);
    if (onPause === "report") await reportPaused(context, reconciler.clock);
    else if (onPause !== "stop") await onPause(context);
    return {};
  } catch (error) {
    await report(reconciler, context, error);
    if (isTerminalError(error)) return {};
    throw error;
  }
}

interface ContextOptions {
  readonly key: ObjectKey;
  readonly signals: ReconcileSignals;
  readonly stored: { object: KubeObject };
}

function contextOf(
  {
    client,
    events,
    eventAnnotations,
    onPause,
  }: Pick<ReconcilerDefinition<never>, "client" | "events" | "eventAnnotations" | "onPause">,
  { key, signals, stored }: ContextOptions,
): ReconcileContext {
  const isAnnotated = onPause === undefined || !isPaused(stored.object);
  const annotations = isAnnotated ? eventAnnotations?.(stored.object) : undefined;
  return {
    ...signals,
    key,
    stored,
    events,
    emit: (event) => events.event(stored.object, { type: "Normal", ...(annotations && { annotations }), ...event }),
    async writeStatus(after) {
      stored.object = await writeStatus(client, { before: stored.object, after, signal: signals.statusSignal });
    },
  };
}

/** Reports that reconciliation is paused, in an event and in the condition Synced. */
export async function reportPaused(context: ReconcileContext, clock: ReconcilerDefinition["clock"]): Promise<void> {
  context.emit({ reason: "ReconciliationPaused", message: "Reconciliation is paused via the pause annotation" });
  await context.writeStatus(withConditionTexts(context.stored.object, [pausedCondition], clock));
}

async function report<C extends ReconcileContext>(
  { conflicts, onFailure, log }: Reconciler<C>,
  context: C,
  error: unknown,
): Promise<void> {
  if (!isReconcileError(error) || context.statusSignal.aborted || conflicts.isRace(context.key, error)) return;
  const { reason, message } = error;
  context.emit({ type: "Warning", reason, message });
  try {
    await onFailure?.(error, context);
  } catch (failure) {
    // A terminal error is not retried: its report must be.
    if (isTerminalError(error)) throw failure;
    const { kind, metadata } = context.stored.object;
    const { namespace, name } = metadata;
    log.debug("failed to update status", { kind, namespace, name, error: textOf(failure) });
  }
}

/** How long a reconcile may work, and how long it may report the outcome. */
interface ReconcileSignals {
  /** Aborts at the deadline, or when the controller stops. */
  readonly signal: AbortSignal;
  /** Aborts a grace period after the deadline, or when the controller stops: a reconcile that timed out can still write its status. */
  readonly statusSignal: AbortSignal;
  readonly timeoutMs: number;
  /** When `signal` aborts, in milliseconds since the epoch. */
  readonly deadline: number;
}

/** The time limits of a reconcile. */
interface DeadlineOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** How long after the deadline the status may still be written. Default: 10 s. */
  readonly statusGraceMs?: number | undefined;
}

const defaultGraceMs = 10_000;

/** Runs a reconcile with its deadline. Neither a timer nor a listener outlives it: the signal of the controller serves millions of them. */
export async function withDeadline<T>(
  { clock, timeoutMs, statusGraceMs = defaultGraceMs }: DeadlineOptions,
  stopping: AbortSignal,
  run: (signals: ReconcileSignals) => Promise<T>,
): Promise<T> {
  const work = new AbortController();
  const status = new AbortController();
  const deadline = clock.now() + timeoutMs;
  const expire = (controller: AbortController): void =>
    controller.abort(new Error(`reconcile timed out after ${timeoutMs / 1000}s`));
  // The second timer starts when the first one ends: most reconciles need only one.
  let cancel = clock.schedule(timeoutMs, () => {
    expire(work);
    cancel = clock.schedule(statusGraceMs, () => expire(status));
  });
  const stop = (): void => {
    work.abort(stopping.reason);
    status.abort(stopping.reason);
  };
  if (stopping.aborted) stop();
  stopping.addEventListener("abort", stop);
  try {
    return await run({ signal: work.signal, statusSignal: status.signal, timeoutMs, deadline });
  } finally {
    cancel();
    stopping.removeEventListener("abort", stop);
  }
}

/** Runs the slow part of a reconcile. An error that the deadline caused says so: whatever was aborted does not know the limit. */
export async function explainTimeout<T>(
  { signal, statusSignal, timeoutMs }: Omit<ReconcileSignals, "deadline">,
  work: () => Promise<T>,
  activity = "",
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!signal.aborted || statusSignal.aborted) throw error;
    const during = activity === "" ? "" : ` ${activity}`;
    throw new Error(`timed out after ${timeoutMs / 1000}s${during}; will retry`, { cause: error });
  }
}

/** The field manager of plain updates: Crossplane's, so that a control plane that takes over continues with the same owner. */
const ownManager = "crossplane";

/** An object before and after a change of its status. */
interface StatusChange {
  readonly before: KubeObject;
  readonly after: KubeObject;
  /** Default: that of Crossplane. */
  readonly fieldManager?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Stores the status of an object; sends nothing when it equals the stored one. Resolves to the object as it is stored now. */
export async function writeStatus(
  client: Pick<ControllerClient, "update">,
  { before, after, fieldManager = ownManager, signal }: StatusChange,
): Promise<KubeObject> {
  const [stored, wanted] = [memberAt(before, ["status"]) ?? {}, memberAt(after, ["status"]) ?? {}];
  if (jsonEqual(stored, wanted)) return before;
  return client.update(after, { subresource: "status", fieldManager, signal });
}

/** The object with conditions that its controller sets, stamped with the time and the generation. Unchanged when they all hold already. */
export function withConditionTexts<T extends KubeObject>(
  object: T,
  texts: readonly ConditionText[],
  clock: Pick<Clock, "now">,
): T {
  const time = conditionTime(clock.now());
  const before = conditionsOf(object);
  const after = setConditions(
    before,
    texts.map((text) => stampCondition(text, time, object.metadata.generation)),
  );
  return after === before ? object : withConditions(object, after);
}
