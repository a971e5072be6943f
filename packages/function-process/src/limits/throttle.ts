// SPDX-License-Identifier: Apache-2.0
import { killSame } from "./marked-processes.ts";
import type { ProcessStat } from "./process-list.ts";

type Target = Pick<ProcessStat, "pid" | "start">;

/** Slows processes down by stopping them for a part of each period, where the kernel does not do it. */
export interface Throttle {
  /** The part of the time that they may run, from 0 to 1, and who. 1 lets them go. */
  set(duty: number, targets: readonly Target[]): void;
  /** Lets them go. */
  end(): void;
}

const periodMs = 100;

/** What a function may always run, so that it answers now and then. */
const leastDuty = 0.05;

/** The part of the time that a function may run, from what it had and what it used of its limit. */
export function nextDuty(duty: number, used: number, limit: number): number {
  if (used <= 0) return 1;
  return Math.min(1, Math.max(leastDuty, (duty * limit) / used));
}

/** Makes a throttle. `send` is for tests. */
export function createThrottle(send: (target: Target, signal: NodeJS.Signals) => void = killSame): Throttle {
  let duty = 1;
  let targets: readonly Target[] = [];
  let stopped: readonly Target[] = [];
  let timer: NodeJS.Timeout | undefined;
  const go = (): void => {
    for (const one of stopped) send(one, "SIGCONT");
    stopped = [];
  };
  const hold = (): void => {
    stopped = targets;
    for (const one of stopped) send(one, "SIGSTOP");
    timer = setTimeout(run, periodMs * (1 - duty)).unref();
  };
  const run = (): void => {
    go();
    timer = setTimeout(hold, periodMs * duty).unref();
  };
  const end = (): void => {
    clearTimeout(timer);
    timer = undefined;
    go();
  };
  return {
    end,
    set(wanted, who) {
      duty = wanted;
      targets = who;
      if (duty >= 1 || who.length === 0) end();
      else if (timer === undefined) run();
    },
  };
}
