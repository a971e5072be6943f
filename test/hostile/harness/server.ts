// SPDX-License-Identifier: Apache-2.0
// The embedded API server as a process, with a client that pings it.

import { chaosDirectory, type ServerProcess, startServer } from "../../chaos/harness/server-process.ts";
import type { Target } from "../../conformance/harness/wire.ts";
import { holdLog } from "./hold-log.ts";
import { type Watched, watchResponsiveness } from "./responsive.ts";

/** A server under attack. */
export interface AttackedServer extends AsyncDisposable {
  readonly process: ServerProcess;
  readonly target: Target;
  readonly watched: Watched;
  /** Shorthand for `watched.during`. */
  during<T>(what: string, attack: () => Promise<T>): Promise<T>;
}

/** How to run the server. */
export interface AttackedServerOptions {
  readonly args?: readonly string[];
  /** Options of Node itself, such as a limit of its heap. */
  readonly nodeOptions?: readonly string[];
}

/** Starts the server in a new directory, and pings it until it is disposed of. */
export async function startAttackedServer(options: AttackedServerOptions = {}): Promise<AttackedServer> {
  const directory = chaosDirectory();
  const holds = holdLog(chaosDirectory());
  const server = startServer({
    directory,
    args: options.args ?? [],
    nodeOptions: [...holds.nodeOptions, ...(options.nodeOptions ?? [])],
    env: holds.env,
  });
  const target = await server.ready;
  const watched = await watchResponsiveness({ target }, holds);
  return {
    process: server,
    target,
    watched,
    during: (what, attack) => watched.during(what, attack),
    async [Symbol.asyncDispose]() {
      await watched[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
