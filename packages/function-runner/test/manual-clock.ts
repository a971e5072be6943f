// SPDX-License-Identifier: Apache-2.0
// Time that moves only when a test says so.
import type { Clock } from "../src/clock.ts";

export interface ManualClock extends Clock {
  /** Moves time and runs what falls due, in order. */
  advance(ms: number): void;
  /** How many tasks wait. */
  readonly waiting: number;
}

export function manualClock(start: number = Date.UTC(2026, 0, 1)): ManualClock {
  let now = start;
  const tasks = new Set<{ readonly due: number; readonly task: () => void }>();
  const next = (until: number): { readonly due: number; readonly task: () => void } | undefined =>
    [...tasks].filter(({ due }) => due <= until).sort((a, b) => a.due - b.due)[0];
  return {
    now: () => now,
    schedule(delayMs, task) {
      const entry = { due: now + delayMs, task };
      tasks.add(entry);
      return () => tasks.delete(entry);
    },
    advance(ms) {
      const until = now + ms;
      for (let entry = next(until); entry !== undefined; entry = next(until)) {
        tasks.delete(entry);
        now = entry.due;
        entry.task();
      }
      now = until;
    },
    get waiting() {
      return tasks.size;
    },
  };
}
