// SPDX-License-Identifier: Apache-2.0
// A program under attack, with a client that pings it all the time: no attack may hold its event loop.
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { HoldLog } from "./hold-log.ts";
import { type Pinger, type PingOptions, startPinger } from "./ping.ts";

/** Most CPU time that one turn of the event loop may take, on any machine. */
export const mostHeldMs = 250;
/** The same on a quiet machine, where CPU time is not stretched by neighbours. */
export const mostHeldQuietMs = 100;
/** A quiet machine is one on which a ping of an idle program never takes longer than this, and which is said to be (`--quiet`). */
const quietGapMs = 20;
const isSaidToBeQuiet = process.env["HOSTILE_QUIET"] !== undefined;
/** How long the idle program is pinged first. */
const calibrationMs = 500;

/** What an attack did to the program. */
export interface AttackReport {
  /** CPU time of the longest turn of the event loop; 0 when none was worth noting. */
  readonly heldMs: number;
  /** Longest time by the clock between two responses to pings. */
  readonly gapMs: number;
  readonly pings: number;
}

/** Watches a program while it is attacked. */
export interface Watched extends AsyncDisposable {
  /** Whether the machine was quiet before the first attack. */
  readonly quiet: boolean;
  /** Longest gap by the clock while the program was idle. */
  readonly idleGapMs: number;
  /** Runs one attack, and fails when it held the event loop or made a ping fail. */
  during<T>(what: string, attack: () => Promise<T>): Promise<T>;
  /** What the attacks so far did, by name. */
  readonly reports: ReadonlyMap<string, AttackReport>;
}

/** Starts to ping a program that `holds` measures. */
export async function watchResponsiveness(options: PingOptions, holds: HoldLog): Promise<Watched> {
  const pinger = await startPinger(options);
  await delay(calibrationMs);
  const { longestGapMs: idleGapMs } = await pinger.take();
  const quiet = isSaidToBeQuiet && idleGapMs <= quietGapMs;
  const reports = new Map<string, AttackReport>();
  return {
    quiet,
    idleGapMs,
    reports,
    async during(what, attack) {
      const started = Date.now();
      await pinger.take();
      try {
        return await attack();
      } finally {
        const report = await settle(pinger, holds, started);
        reports.set(what, report);
        judge(what, report, quiet);
      }
    },
    [Symbol.asyncDispose]: () => pinger[Symbol.asyncDispose](),
  };
}

/** The loop must have turned once more before the last hold is in the log. */
async function settle(pinger: Pinger, holds: HoldLog, started: number): Promise<AttackReport> {
  await delay(20);
  const { pings, longestGapMs, failures } = await pinger.take();
  assert.deepEqual(failures, [], "pings were answered with errors");
  return { heldMs: holds.longestSince(started), gapMs: longestGapMs, pings };
}

function judge(what: string, { heldMs, gapMs }: AttackReport, quiet: boolean): void {
  const limit = quiet ? mostHeldQuietMs : mostHeldMs;
  const text = `${what}: one turn of the event loop took ${heldMs.toFixed(0)} ms of CPU time, and a ping ${gapMs.toFixed(0)} ms`;
  assert.ok(heldMs <= limit, `${text}: at most ${limit} ms are allowed`);
}
