// SPDX-License-Identifier: Apache-2.0

/** The time, and timers. Tests pass a clock that they advance themselves. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `task` once after a delay, and returns a function that cancels it. A pending task does not keep the process alive. */
  schedule(delayMs: number, task: () => void): () => void;
}

// The longest delay of setTimeout; a longer one would fire at once.
const longestDelayMs = 2 ** 31 - 1;

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  schedule(delayMs, task) {
    const timer = setTimeout(task, Math.min(delayMs, longestDelayMs));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Runs `task` every `intervalMs` until the returned function is called. */
export function repeat(clock: Clock, intervalMs: number, task: () => void): () => void {
  let cancel = clock.schedule(intervalMs, tick);
  function tick(): void {
    cancel = clock.schedule(intervalMs, tick);
    task();
  }
  return () => cancel();
}
