// SPDX-License-Identifier: Apache-2.0

/** Time as the runner sees it. Tests hand in one they move by hand. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `task` once after a delay and returns how to cancel it. A waiting task never keeps the process alive. */
  schedule(delayMs: number, task: () => void): () => void;
}

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  schedule(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Runs `task` again and again, `intervalMs` apart, until the returned function is called. */
export function repeat(clock: Clock, intervalMs: number, task: () => void): () => void {
  let cancel = clock.schedule(intervalMs, tick);
  function tick(): void {
    cancel = clock.schedule(intervalMs, tick);
    task();
  }
  return () => cancel();
}
