// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/kube-controller";

/** A clock that stands still until it is told to go on. */
export interface ManualClock extends Clock {
  /** Lets time pass and runs what becomes due, in its order. */
  advance(ms: number): void;
  /** How many tasks wait. */
  waiting(): number;
}

/** Makes one. */
export function manualClock(start = 1_000_000): ManualClock {
  let now = start;
  const tasks = new Set<{ readonly at: number; readonly task: () => void }>();
  return {
    now: () => now,
    waiting: () => tasks.size,
    schedule(delayMs, task) {
      const entry = { at: now + delayMs, task };
      tasks.add(entry);
      return () => tasks.delete(entry);
    },
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const [due] = [...tasks].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
        if (due === undefined) break;
        tasks.delete(due);
        now = Math.max(now, due.at);
        due.task();
      }
      now = end;
    },
  };
}
