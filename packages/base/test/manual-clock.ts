// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "../src/clock.ts";

/** A clock that stands still until a test advances it. */
export interface ManualClock extends Clock {
  /** Advances the time and runs the tasks that become due, in their order. */
  advance(milliseconds: number): void;
  /** The number of pending tasks. */
  readonly waiting: number;
  /** The delays with which the pending tasks were scheduled. */
  readonly delays: readonly number[];
}

interface Task {
  readonly at: number;
  readonly delayMs: number;
  readonly run: () => void;
}

/** Creates a clock that shows `start`. */
export function manualClock(start = 0): ManualClock {
  let time = start;
  const tasks = new Set<Task>();
  const nextBefore = (end: number): Task | undefined =>
    [...tasks].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
  return {
    now: () => time,
    get waiting() {
      return tasks.size;
    },
    get delays() {
      return [...tasks].map(({ delayMs }) => delayMs);
    },
    schedule(delayMs, run) {
      const task = { at: time + delayMs, delayMs, run };
      tasks.add(task);
      return () => tasks.delete(task);
    },
    advance(milliseconds) {
      const end = time + milliseconds;
      for (let task = nextBefore(end); task !== undefined; task = nextBefore(end)) {
        tasks.delete(task);
        time = Math.max(time, task.at);
        task.run();
      }
      time = end;
    },
  };
}
