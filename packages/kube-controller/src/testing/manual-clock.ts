// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "../clock.ts";

/** A clock that moves only by `advance`. */
export interface ManualClock extends Clock {
  /** Lets time pass and runs what becomes due, in its order. */
  advance(milliseconds: number): void;
  /** How many tasks wait. */
  readonly waiting: number;
}

export function manualClock(start = 0): ManualClock {
  let time = start;
  const tasks = new Map<object, { readonly at: number; readonly task: () => void }>();
  return {
    now: () => time,
    get waiting() {
      return tasks.size;
    },
    schedule(delayMs, task) {
      const id = {};
      tasks.set(id, { at: time + delayMs, task });
      return () => tasks.delete(id);
    },
    advance(milliseconds) {
      const end = time + milliseconds;
      for (;;) {
        const due = [...tasks].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at)[0];
        if (due === undefined) break;
        const [id, { at, task }] = due;
        tasks.delete(id);
        time = Math.max(time, at);
        task();
      }
      time = end;
    },
  };
}
