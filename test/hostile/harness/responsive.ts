// SPDX-License-Identifier: Apache-2.0
// A program under attack, with a client that pings it all the time: no attack may hold its event loop.
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { HoldLog } from "./hold-log.ts";
import { type Pinger, type PingOptions, startPinger } from "./ping.ts";

/** Most CPU time, in ms, that one turn of the event loop may take: less with `--quiet`, where no neighbors stretch it. */
export function mostHeldMs(env: NodeJS.ProcessEnv = process.env): number {
  return env["HOSTILE_QUIET"] === undefined ? 250 : 100;
}

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
  /** Runs one attack, and fails when it held the event loop or made a ping fail. */
  during<T>(what: string, attack: () => Promise<T>): Promise<T>;
  /** What the attacks so far did, by name. */
  readonly reports: ReadonlyMap<string, AttackReport>;
}

/** Starts to ping a program that `holds` measures. */
export async function watchResponsiveness(options: PingOptions, holds: HoldLog): Promise<Watched> {
  const pinger = await startPinger(options);
  const reports = new Map<string, AttackReport>();
  return {
    reports,
    async during(what, attack) {
      const started = Date.now();
      await pinger.take();
      try {
        return await attack();
      } finally {
        const report = await settle(pinger, holds, started);
        reports.set(what, report);
        judge(what, report);
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

function judge(what: string, { heldMs, gapMs }: AttackReport): void {
  const limit = mostHeldMs();
  const text = `${what}: one turn of the event loop took ${heldMs.toFixed(0)} ms of CPU time, and a ping ${gapMs.toFixed(0)} ms`;
  assert.ok(heldMs <= limit, `${text}: at most ${limit} ms are allowed`);
}
