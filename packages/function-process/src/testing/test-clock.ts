// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/function-runner";

/** A clock that a test moves by hand. */
export interface TestClock extends Clock {
  advance(ms: number): void;
  /** The delays of the scheduled tasks. */
  delays(): number[];
}

/** Makes a clock that stands still. */
export function createTestClock(): TestClock {
  const tasks = new Set<{ readonly at: number; readonly delayMs: number; readonly task: () => void }>();
  let now = 0;
  return {
    now: () => now,
    schedule(delayMs, task) {
      const entry = { at: now + delayMs, delayMs, task };
      tasks.add(entry);
      return () => tasks.delete(entry);
    },
    advance(ms) {
      now += ms;
      for (const entry of [...tasks].filter(({ at }) => at <= now).sort((a, b) => a.at - b.at)) {
        if (tasks.delete(entry)) entry.task();
      }
    },
    delays: () => [...tasks].map(({ delayMs }) => delayMs),
  };
}
