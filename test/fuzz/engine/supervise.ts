// SPDX-License-Identifier: Apache-2.0
// Runs the thread that fuzzes, ends it when an input takes too much time or memory, and continues without that input.
import { Worker } from "node:worker_threads";
import { currentInput, currentInputBuffer, type FuzzOrder, type FuzzReport } from "./messages.ts";

/** One input may use this much processor time and this much memory. */
export const inputLimits = { cpuSeconds: 1, heapMegabytes: 256, residentMegabytes: 1024 };

/** How a thread ended. */
export type ThreadEnd =
  | { readonly kind: "done" }
  | { readonly kind: Failure; readonly bytes: Buffer; readonly text: string };

type Failure = "slow" | "memory" | "crash" | "hang";

const pollMs = 50;
/** How Node ends a thread whose top level waits for a promise that nothing can settle. */
const unsettled = 13;

/** Runs one thread to its end. */
export function runThread(
  order: Omit<FuzzOrder, "current">,
  onReport: (report: FuzzReport) => void,
  program: URL = new URL("./fuzz-thread.ts", import.meta.url),
): Promise<ThreadEnd> {
  const buffer = currentInputBuffer();
  const current = currentInput(buffer);
  const worker = new Worker(program, {
    workerData: { ...order, current: buffer } satisfies FuzzOrder,
    resourceLimits: { maxOldGenerationSizeMb: inputLimits.heapMegabytes },
  });
  const { promise, resolve } = Promise.withResolvers<ThreadEnd>();
  const stop = (kind: Failure, text: string): void => {
    const bytes = current.bytes();
    void worker.terminate().then(() => resolve({ kind, bytes, text }));
  };
  const timer = setInterval(
    watchLimits(() => current.turn, stop),
    pollMs,
  );
  worker.on("message", onReport);
  worker.once("error", (error: NodeJS.ErrnoException) =>
    stop(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? "memory" : "crash", error.stack ?? error.message),
  );
  worker.once("exit", (code) => {
    if (code === unsettled) stop("hang", "the promise of an input never settles");
    else setImmediate(() => resolve({ kind: "done" }));
  });
  return promise.finally(() => clearInterval(timer));
}

/** Checks at each call what the input that is being run has used so far. */
function watchLimits(turnOf: () => number, stop: (kind: "slow" | "memory", text: string) => void): () => void {
  let turn = -1;
  let since = process.cpuUsage();
  let isStopped = false;
  return () => {
    if (isStopped) return;
    const now = turnOf();
    if (now !== turn || now % 2 === 0) {
      turn = now;
      since = process.cpuUsage();
    }
    const { user, system } = process.cpuUsage(since);
    const resident = process.memoryUsage.rss() / 2 ** 20;
    const isSlow = (user + system) / 1e6 > inputLimits.cpuSeconds;
    if (!isSlow && resident < inputLimits.residentMegabytes) return;
    isStopped = true;
    if (isSlow) stop("slow", `an input took more than ${inputLimits.cpuSeconds} s of processor time`);
    else stop("memory", `the process grew to ${Math.round(resident)} MB`);
  };
}
