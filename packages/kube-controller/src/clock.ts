// SPDX-License-Identifier: Apache-2.0

/** Time as controllers see it. Tests hand in one they move by hand. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `task` once after a delay and returns how to cancel it. A waiting task never keeps the process alive. */
  schedule(delayMs: number, task: () => void): () => void;
}

// What setTimeout can wait for; a longer delay would fire at once.
const longestDelayMs = 2 ** 31 - 1;

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  schedule(delayMs, task) {
    const timer = setTimeout(task, Math.min(delayMs, longestDelayMs));
    timer.unref();
    return () => clearTimeout(timer);
  },
};
