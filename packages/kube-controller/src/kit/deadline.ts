// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/base";

/** How long a reconcile may work, and how long it may report the outcome. */
export interface ReconcileSignals {
  /** Aborts at the deadline, or when the controller stops. */
  readonly signal: AbortSignal;
  /** Aborts a grace period after the deadline, or when the controller stops: a reconcile that timed out can still write its status. */
  readonly statusSignal: AbortSignal;
  readonly timeoutMs: number;
  /** When `signal` aborts, in milliseconds since the epoch. */
  readonly deadline: number;
}

/** The time limits of a reconcile. */
export interface DeadlineOptions {
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
