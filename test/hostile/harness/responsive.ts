// SPDX-License-Identifier: Apache-2.0
// A program under attack, with a client that pings it all the time: no attack may hold its event loop.
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { HoldLog } from "./hold-log.ts";
import { type Pinger, type PingOptions, startPinger } from "./ping.ts";

/** What an attack may do at most, in ms. */
interface HoldLimits {
  /** CPU time of one turn of the event loop. */
  readonly heldMs: number;
  /** Time by the clock of a response to a ping, which also has what the program waits for, such as a disk. */
  readonly gapMs: number;
}

/** With `--quiet` no neighbors stretch CPU time; elsewhere the clock says as much about them as about the program. */
export function holdLimits(env: NodeJS.ProcessEnv = process.env): HoldLimits {
  return env["HOSTILE_QUIET"] === undefined ? { heldMs: 250, gapMs: Infinity } : { heldMs: 100, gapMs: 100 };
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
  /** Runs one attack, and fails when it held the event loop, delayed a ping or made one fail. */
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
  const figures = `one turn of the event loop took ${heldMs.toFixed(0)} ms of CPU time, and a ping ${gapMs.toFixed(0)} ms`;
  const file = process.env["HOSTILE_REPORT"];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ what, heldMs, gapMs })}\n`);
  const limits = holdLimits();
  assert.ok(heldMs <= limits.heldMs, `${what}: ${figures}: a turn may take ${limits.heldMs} ms`);
  assert.ok(gapMs <= limits.gapMs, `${what}: ${figures}: a ping may take ${limits.gapMs} ms`);
}
