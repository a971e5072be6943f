// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Target } from "../../conformance/harness/wire.ts";

/** What to ping, and how often. */
export interface PingOptions {
  readonly target: Target;
  /** Default /livez. */
  readonly path?: string;
  /** Pause between a response and the next request. Default 5. */
  readonly everyMs?: number;
}

/** What the pings saw since the last report. */
export interface PingReport {
  readonly pings: number;
  /** Longest time, by the clock, that a response took. */
  readonly longestGapMs: number;
  /** Up to ten responses that were errors. */
  readonly failures: readonly string[];
}

/** A client in a thread of its own that requests a cheap path all the time. */
export interface Pinger extends AsyncDisposable {
  /** What happened since the last call. Waits for the ping under way, so a loop that is held now counts. */
  take(): Promise<PingReport>;
}

/** Starts to ping. Resolves after the first response. */
export async function startPinger({ target, path = "/livez", everyMs = 5 }: PingOptions): Promise<Pinger> {
  const worker = new Worker(new URL("./ping-worker.ts", import.meta.url), { workerData: { target, path, everyMs } });
  const exited = once(worker, "exit");
  await once(worker, "message");
  const request = async (message: "take" | "stop"): Promise<PingReport> => {
    const reply = once(worker, "message");
    worker.postMessage(message);
    return (await reply)[0] as PingReport;
  };
  return {
    take: () => request("take"),
    async [Symbol.asyncDispose]() {
      await request("stop");
      await exited;
    },
  };
}
