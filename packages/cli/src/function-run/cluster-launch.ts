// SPDX-License-Identifier: Apache-2.0
import cluster, { type Worker } from "node:cluster";
import {
  closeInheritedDescriptors,
  isWorkerMessage,
  type Launch,
  type LaunchEvents,
  workerProgram,
} from "@purlin/function-process";

/** Longer than a function gives its calls to finish. */
const stopLimitMs = 8_000;

/**
 * Starts versions of a function that all serve at one address. The listening socket belongs to this process (node:cluster
 * shares it), so no connection is refused while versions change. `flags` are those of functions, as their own command
 * line takes them.
 */
export function createClusterLaunch(file: string, flags: readonly string[]): Launch {
  cluster.setupPrimary({ exec: workerProgram, args: [file, ...flags], silent: true });
  return (events) => {
    closeInheritedDescriptors();
    const worker = cluster.fork();
    for (const stream of ["stdout", "stderr"] as const) {
      worker.process[stream]?.setEncoding("utf8").on("data", (text: string) => events.output(stream, text));
    }
    tellWhereItListens(worker, events);
    worker.on("exit", (code, signal) => events.ended(signal ?? `exit code ${code}`));
    return { stop: () => endWorker(worker), kill: () => void worker.process.kill("SIGKILL") };
  };
}

function tellWhereItListens(worker: Worker, events: LaunchEvents): void {
  let loaded = false;
  worker.on("message", (message: unknown) => {
    if (!isWorkerMessage(message)) return;
    loaded ||= message.type === "loaded";
    events.message(message);
  });
  // A file that serves by itself never gets to export anything; that it listens is how we know.
  worker.on("listening", ({ port, address }) => {
    if (!loaded) events.message({ type: "serving", address: port > 0 ? `localhost:${port}` : String(address) });
  });
}

async function endWorker(worker: Worker): Promise<void> {
  if (worker.isDead()) return;
  const ended = Promise.withResolvers<void>();
  worker.once("exit", () => ended.resolve());
  worker.process.kill("SIGTERM");
  const limit = setTimeout(() => worker.process.kill("SIGKILL"), stopLimitMs);
  await ended.promise;
  clearTimeout(limit);
}
