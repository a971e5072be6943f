// SPDX-License-Identifier: Apache-2.0
import type { RenewalClock } from "../server/certificate-renewal.ts";

/** A clock that stands still until it is moved. */
interface TestClock extends RenewalClock {
  passDays(days: number): void;
}

const dayMs = 86_400_000;

export function createTestClock(start: Date): TestClock {
  const alarms = new Set<{ readonly everyMs: number; readonly act: () => void; due: number }>();
  let time = start.getTime();
  const pass = (ms: number): void => {
    const end = time + ms;
    for (let next = nearest(); next !== undefined && next.due <= end; next = nearest()) {
      time = next.due;
      next.due += next.everyMs;
      next.act();
    }
    time = end;
  };
  const nearest = (): { readonly everyMs: number; readonly act: () => void; due: number } | undefined =>
    [...alarms].sort((a, b) => a.due - b.due)[0];
  return {
    now: () => new Date(time),
    every: (everyMs, act) => {
      const alarm = { everyMs, act, due: time + everyMs };
      alarms.add(alarm);
      return () => void alarms.delete(alarm);
    },
    passDays: (days) => pass(days * dayMs),
  };
}
