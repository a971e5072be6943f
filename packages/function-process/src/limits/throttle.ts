// SPDX-License-Identifier: Apache-2.0

import { type FunctionLimits, limitNames, raiseAdvice, showLimit } from "./function-limits.ts";
import { killSame } from "./marked-processes.ts";
import type { ProcessStat } from "./process-list.ts";
import type { Usage } from "./usage.ts";

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

/** Something that a function used too much of. */
interface Finding {
  readonly limit: keyof FunctionLimits;
  /** For conditions and logs. */
  readonly text: string;
}

type Stopping = "memoryBytes" | "processes" | "tmpBytes";

/** Limits that a function must not exceed: it is stopped. */
const stopping: readonly Stopping[] = ["memoryBytes", "processes", "tmpBytes"];

/** The limit for which a function must be stopped; undefined when it keeps within all of them. */
export function judge(usage: Pick<Usage, Stopping>, limits: FunctionLimits): Finding | undefined {
  const limit = stopping.find((one) => usage[one] > limits[one]);
  return limit === undefined ? undefined : { limit, text: stoppedText(limit, limits, usage[limit]) };
}

/** The text of a function that was stopped for a limit. What it used is left out where only the kernel knows. */
export function stoppedText(limit: keyof FunctionLimits, limits: FunctionLimits, used?: number): string {
  const using = used === undefined ? "" : ` by using ${showLimit(limit, used)}`;
  const { words } = limitNames[limit];
  return `the function exceeded its ${words} of ${showLimit(limit, limits[limit])}${using} and was stopped; ${raiseAdvice(limit)}`;
}

/** The text of a function that goes on, held to a limit. */
export function heldText(limit: "cpus" | "openFiles" | "logBytesPerSecond", limits: FunctionLimits): string {
  const { words } = limitNames[limit];
  return `the function reached its ${words} of ${showLimit(limit, limits[limit])}: ${consequences[limit]}; ${raiseAdvice(limit)}`;
}

const consequences = {
  cpus: "it is slowed down",
  openFiles: "it cannot open more",
  logBytesPerSecond: "further output was discarded",
} as const;

/** Whether a function is close enough to a limit to be measured more often. */
export function isClose(usage: Pick<Usage, Stopping>, limits: FunctionLimits): boolean {
  return stopping.some((one) => usage[one] > limits[one] / 2);
}
