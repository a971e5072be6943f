// SPDX-License-Identifier: Apache-2.0
// The embedded API server as a process, with a client that pings it.
import assert from "node:assert/strict";
import { chaosDirectory, type ServerProcess, startServer } from "../../chaos/harness/server-process.ts";
import type { Target } from "../../conformance/harness/wire.ts";
import { holdLog } from "./hold-log.ts";
import { type Watched, watchResponsiveness } from "./responsive.ts";

/**
 * Largest heap of the server, in MiB. V8 ends a process that needs more. Without this limit, V8 leaves the more garbage the more memory the
 * machine has and the less processor time the server gets: resident memory would depend on the machine.
 */
const heapMebibytes = 512;

/** Most resident memory, in MiB, that the server may ever have, with everything outside its heap. */
const mostMebibytes = 1000;

/** A server under attack. */
export interface AttackedServer extends AsyncDisposable {
  readonly process: ServerProcess;
  readonly target: Target;
  readonly watched: Watched;
  /** Shorthand for `watched.during`. */
  during<T>(what: string, attack: () => Promise<T>): Promise<T>;
  /** Fails when the server has ever had more resident memory than it may. */
  requireBoundedMemory(most?: number): void;
}

/** How to run the server. */
export interface AttackedServerOptions {
  readonly args?: readonly string[];
}

/** Starts the server in a new directory, and pings it until it is disposed of. */
export async function startAttackedServer(options: AttackedServerOptions = {}): Promise<AttackedServer> {
  const directory = chaosDirectory();
  const holds = holdLog(chaosDirectory());
  const server = startServer({
    directory,
    args: options.args ?? [],
    nodeOptions: [...holds.nodeOptions, `--max-old-space-size=${heapMebibytes}`],
    env: holds.env,
  });
  const target = await server.ready;
  const watched = await watchResponsiveness({ target }, holds);
  return {
    process: server,
    target,
    watched,
    during: (what, attack) => watched.during(what, attack),
    requireBoundedMemory(most = mostMebibytes) {
      const peak = Math.round(server.peakMemory());
      assert.ok(peak <= most, `the server had ${peak} MiB: at most ${most} MiB are allowed`);
    },
    async [Symbol.asyncDispose]() {
      await watched[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
