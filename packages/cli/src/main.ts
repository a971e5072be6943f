// SPDX-License-Identifier: Apache-2.0
import { constants } from "node:os";
import { OutputClosedError, processIo } from "./io.ts";
import { run } from "./run.ts";

/** npm sends Ctrl-C on to its child, which has it from the terminal already: that is one wish, not two. */
const echoMs = 500;

/** Runs the command line of this process and sets its exit code. */
export async function main(): Promise<void> {
  const stop = new AbortController();
  let askedAt = 0;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      // Asked twice, the user does not want to wait for what is still being finished.
      if (stop.signal.aborted && performance.now() - askedAt > echoMs) process.exit(128 + constants.signals[signal]);
      if (stop.signal.aborted) return;
      askedAt = performance.now();
      stop.abort(new Error(`stopped by ${signal}`));
    });
  }
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (stop.signal.aborted) return;
    const gone = new OutputClosedError(error);
    // The command may have ended before the output is known to be lost.
    if (gone.problem !== undefined) {
      process.exitCode = gone.exitCode;
      process.stderr.write(`error: ${gone.problem}\n`);
    }
    stop.abort(gone);
  });
  // stderr is closed: the error cannot be reported.
  process.stderr.on("error", () => {});
  const exitCode = await run(process.argv.slice(2), processIo(stop.signal));
  process.exitCode ??= exitCode;
}
