// SPDX-License-Identifier: Apache-2.0
import cluster, { type Worker } from "node:cluster";
import { fileURLToPath } from "node:url";
import { watchFiles } from "./watch-files.ts";
import { isWorkerMessage, type WorkerMessage } from "./worker-message.ts";

/** What happens to a function that is being served. */
export interface Observer {
  /** A version took over. */
  serving(at: { readonly address: string; readonly startMs: number }): void;
  /** A version did not start; `setup` when not its code is to blame. */
  failed(why: { readonly text: string; readonly setup: boolean; readonly lastGood: boolean }): void;
  /** The version that was serving ended by itself. */
  died(text: string): void;
  output(stream: "stdout" | "stderr", text: string): void;
}

/** Which function to serve, and how. */
export interface SupervisorOptions {
  /** Absolute. */
  readonly file: string;
  /** The flags of functions, as their own command line takes them. */
  readonly flags: readonly string[];
  readonly observer: Observer;
}

/** Longer than a function gives its calls to finish. */
const stopLimitMs = 8_000;

/** One process with one version of the function. */
interface Version {
  readonly worker: Worker;
  readonly startedAt: number;
  loaded: boolean;
  failed: boolean;
}

/**
 * Serves a function in a process of its own and starts another one beside it whenever a file of it is saved. The listening
 * socket belongs to this process (node:cluster shares it), so no connection is refused while versions change.
 */
export class Supervisor {
  readonly #observer: Observer;
  readonly #watcher = watchFiles(() => this.#start());
  #starting: Version | undefined;
  #current: Version | undefined;
  #stopping = false;

  constructor({ file, flags, observer }: SupervisorOptions) {
    this.#observer = observer;
    cluster.setupPrimary({
      exec: fileURLToPath(new URL("./worker.ts", import.meta.url)),
      args: [file, ...flags],
      silent: true,
    });
    this.#watcher.add(file);
    this.#start();
  }

  /** Lets calls finish and ends all processes. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#watcher[Symbol.dispose]();
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    await Promise.all(workers.map(endWorker));
  }

  #start(): void {
    // What was still starting is outdated before it ever served.
    if (this.#starting !== undefined) this.#starting.worker.process.kill("SIGKILL");
    const worker = cluster.fork();
    const version: Version = { worker, startedAt: performance.now(), loaded: false, failed: false };
    this.#starting = version;
    for (const stream of ["stdout", "stderr"] as const) {
      worker.process[stream]?.setEncoding("utf8").on("data", (text: string) => this.#observer.output(stream, text));
    }
    worker.on("message", (message: unknown) => {
      if (isWorkerMessage(message)) this.#received(version, message);
    });
    // A file that serves by itself never gets to export anything; that it listens is how we know.
    worker.on("listening", ({ port, address }) => {
      if (!version.loaded) this.#serves(version, port > 0 ? `localhost:${port}` : String(address));
    });
    worker.on("exit", (code, signal) => this.#ended(version, signal ?? `exit code ${code}`));
  }

  #received(version: Version, message: WorkerMessage): void {
    switch (message.type) {
      case "module":
        this.#watcher.add(message.file);
        return;
      case "loaded":
        version.loaded = true;
        return;
      case "serving":
        this.#serves(version, message.address);
        return;
      case "failed":
        version.failed = true;
        this.#fails(version, message);
    }
  }

  #serves(version: Version, address: string): void {
    if (version !== this.#starting) return;
    this.#starting = undefined;
    const old = this.#current;
    this.#current = version;
    this.#watcher.watchBeside(false);
    // The old version stops listening now and finishes what it has; the new one has been listening for a moment.
    old?.worker.process.kill("SIGTERM");
    const startMs = Math.round(performance.now() - version.startedAt);
    this.#observer.serving({ address, startMs });
  }

  #fails(version: Version, why: { readonly text: string; readonly setup: boolean }): void {
    if (version !== this.#starting || this.#stopping) return;
    this.#starting = undefined;
    this.#watcher.watchBeside(true);
    this.#observer.failed({ text: why.text, setup: why.setup, lastGood: this.#current !== undefined });
  }

  #ended(version: Version, how: string): void {
    if (this.#stopping) return;
    if (version === this.#starting && !version.failed) {
      this.#fails(version, { text: `the function ended before it served (${how})`, setup: false });
    }
    if (version !== this.#current) return;
    this.#current = undefined;
    this.#observer.died(`the function ended by itself (${how})`);
  }
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
