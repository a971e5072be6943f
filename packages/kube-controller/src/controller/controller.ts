// SPDX-License-Identifier: Apache-2.0

import type { Clock, Log } from "@purlin/base";
import { createErrorBrand } from "@purlin/base";
import { isConflict, textOf } from "@purlin/kube-objects/errors";
import { keyText, type ObjectKey } from "@purlin/kube-objects/object";
import type { ControllerMetrics, ReconcileOutcome } from "../metrics.ts";
import {
  type Backoff,
  createRetryDelays,
  type QueuedItem,
  type RetryDelays,
  type RetryRate,
  WorkQueue,
} from "../queue/work-queue.ts";

const brand = createErrorBrand<ReconcileError>("purlin.dev/kube-controller/ReconcileError");
const terminalBrand = createErrorBrand<TerminalError>("purlin.dev/kube-controller/TerminalError");

/** A step of a reconcile failed: the message that users read, and the reason of its event. */
export class ReconcileError extends Error {
  readonly reason: string;

  constructor(reason: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "ReconcileError";
    this.reason = reason;
    brand.mark(this);
  }

  /** An error whose cause has the whole message. */
  static from(reason: string, cause: unknown): ReconcileError {
    return new ReconcileError(reason, textOf(cause), cause);
  }
}

/** A failure that a retry cannot repair. It is reported like any other; the next change of the object starts the next reconcile. */
export class TerminalError extends ReconcileError {
  constructor(reason: string, message: string, cause?: unknown) {
    super(reason, message, cause);
    this.name = "TerminalError";
    terminalBrand.mark(this);
  }
}

/** Whether the value is a ReconcileError, of this or another copy of the package. */
export function isReconcileError(value: unknown): value is ReconcileError {
  return brand.has(value);
}

/** Whether the value is a TerminalError, of this or another copy of the package. */
export function isTerminalError(value: unknown): value is TerminalError {
  return terminalBrand.has(value);
}

/** The event reason and the message prefix of a step that fails. */
export interface StepText {
  readonly reason: string;
  readonly text: string;
}

/** Runs a step; an error that it throws becomes a ReconcileError. */
export async function attempt<T>({ reason, text }: StepText, action: () => Promise<T> | T): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw new ReconcileError(reason, `${text}: ${textOf(error)}`, error);
  }
}

/** When to look at an object again. Empty: when something changes. */
export interface ReconcileResult {
  /** Again, through the key's backoff. */
  readonly requeue?: boolean;
  /** Again, this much later; the key's backoff starts again. */
  readonly requeueAfterMs?: number;
}

/**
 * Brings one object towards what it asks for. A conflict anywhere in a rejection's chain of causes is a quiet requeue;
 * any other rejection is logged, and both go through the key's backoff. The signal aborts when the controller stops.
 */
export type Reconcile = (key: ObjectKey, signal: AbortSignal) => Promise<ReconcileResult>;

/** What a controller is made of. */
export interface ControllerOptions {
  readonly name: string;
  readonly reconcile: Reconcile;
  readonly concurrency: number;
  readonly backoff: Backoff;
  readonly retryRate?: RetryRate | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ControllerMetrics;
  /** How long running reconciles may continue when the controller stops, before their signal aborts. */
  readonly stopGraceMs: number;
}

// At most this many reconciles may begin before the event loop gets its turn: one that only reads caches never waits for anything.
const burst = 16;

/** A queue and the reconciles that empty it. */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #queue: WorkQueue;
  readonly #retries: RetryDelays;
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #pumping = false;
  #stopped = false;

  constructor(options: ControllerOptions) {
    const { clock, metrics } = options;
    this.#options = options;
    this.#queue = new WorkQueue(clock, () => this.#pump(), metrics);
    this.#retries = createRetryDelays(clock, options.backoff, options.retryRate);
    metrics.started(options.concurrency);
  }

  enqueue(key: ObjectKey, afterMs = 0): void {
    this.#queue.addAfter(key, afterMs);
  }

  /** Begins no more reconciles and waits for those that run: first patiently, then with their signal aborted. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#queue.close();
    const { clock, stopGraceMs, name, metrics } = this.#options;
    const abort = (): void => this.#stopping.abort(new Error(`controller "${name}" is stopping`));
    const cancel = clock.schedule(stopGraceMs, abort);
    await Promise.all(this.#running);
    cancel();
    abort();
    metrics.stopped();
  }

  #pump(): void {
    if (this.#pumping || this.#stopped) return;
    this.#pumping = true;
    setImmediate(() => {
      this.#pumping = false;
      this.#begin();
    });
  }

  #begin(): void {
    for (let begun = 0; this.#running.size < this.#options.concurrency; begun++) {
      if (begun === burst) {
        this.#pump();
        return;
      }
      const item = this.#queue.take();
      if (item === undefined) return;
      const running = this.#work(item).finally(() => {
        this.#running.delete(running);
        this.#options.metrics.active(this.#running.size);
        this.#pump();
      });
      this.#running.add(running);
      this.#options.metrics.active(this.#running.size);
    }
  }

  async #work(item: QueuedItem): Promise<void> {
    const { reconcile, clock, metrics } = this.#options;
    const began = clock.now();
    metrics.taken((began - item.since) / 1000);
    const outcome = await Promise.try(() => reconcile(item.key, this.#stopping.signal)).then(
      (result) => this.#succeeded(item, result),
      (error: unknown) => this.#failed(item, error),
    );
    metrics.reconciled(outcome, (clock.now() - began) / 1000);
    this.#queue.done(item);
  }

  #succeeded({ key, text }: QueuedItem, { requeue, requeueAfterMs }: ReconcileResult): ReconcileOutcome {
    if (requeueAfterMs !== undefined && requeueAfterMs > 0) {
      this.#retries.forget(text);
      this.#queue.addAfter(key, requeueAfterMs);
      return "requeue_after";
    }
    if (requeue === true) {
      this.#retry(key, text, "failure");
      return "requeue";
    }
    this.#retries.forget(text);
    return "success";
  }

  #failed({ key, text }: QueuedItem, error: unknown): ReconcileOutcome {
    const why = isConflict(error) ? "conflict" : "failure";
    // A conflict is a race, which the next reconcile resolves. One that returns again and again is a failure.
    if (why === "conflict" && this.#retries.failures(text) < maxRaces) {
      this.#retry(key, text, why);
      return "requeue";
    }
    // What fails because the controller stops is not the object's failure.
    if (!this.#stopping.signal.aborted) {
      const { log, name } = this.#options;
      log.error("reconcile failed", { controller: name, object: text, error: textOf(error) });
    }
    this.#retry(key, text, why);
    return "error";
  }

  #retry(key: ObjectKey, text: string, why: "failure" | "conflict"): void {
    this.#options.metrics.retried();
    this.#queue.addAfter(key, this.#retries.next(text, why));
  }
}

/** This many conflicts in a row count as races. With the delays between them they take about 2.5 seconds. */
export const maxRaces = 7;

/**
 * The conflicts in a row of each object. A single conflict is a race: the next reconcile reads what the other writer stored, and
 * there is nothing to report. A conflict that returns at every reconcile is a failure that users must see.
 */
export interface ConflictStreaks {
  /** Whether an error is a conflict that still counts as a race. */
  isRace(key: ObjectKey, error: unknown): boolean;
  /** Counts a reconcile that failed with an error, or that succeeded. */
  ended(key: ObjectKey, error?: unknown): void;
}

/** Remembers only the objects whose last reconcile ended in a conflict. */
export function createConflictStreaks(): ConflictStreaks {
  const streaks = new Map<string, number>();
  return {
    isRace: (object, error) => isConflict(error) && (streaks.get(keyText(object)) ?? 0) < maxRaces,
    ended(object, error) {
      const key = keyText(object);
      if (isConflict(error)) streaks.set(key, (streaks.get(key) ?? 0) + 1);
      else streaks.delete(key);
    },
  };
}
