// SPDX-License-Identifier: Apache-2.0
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Access } from "./access.ts";
import type { Job, Outcome } from "./jobs.ts";

/** A process that does jobs, one after the other. */
export interface Load extends AsyncDisposable {
  do(job: Job): Promise<readonly number[]>;
  readonly pid: number;
}

/** Loads a server over HTTPS from a process of its own. */
export function startLoader(access: Access): Load {
  return asLoad(fork(join(import.meta.dirname, "loader.ts"), [JSON.stringify(access)]));
}

/** Runs the embedded server and its clients in one process. `built` is the folder of the built command. */
export function startInProcess(built: string, directory: string): Load {
  return asLoad(fork(join(import.meta.dirname, "in-process.ts"), [built, directory]));
}

function asLoad(child: ChildProcess): Load {
  return {
    pid: child.pid ?? 0,
    do: async (job) => {
      const done = new AbortController();
      const { signal } = done;
      child.send(job);
      const answers = [once(child, "message", { signal }), once(child, "exit", { signal })];
      const [outcome] = (await Promise.race(answers)) as [Outcome | number | null];
      Promise.allSettled(answers).catch(() => {});
      done.abort();
      if (outcome === null || typeof outcome !== "object") throw new Error(`the loader left with ${outcome}`);
      if ("error" in outcome) throw new Error(outcome.error);
      return outcome.numbers;
    },
    [Symbol.asyncDispose]: async () => {
      const exit = once(child, "exit");
      child.kill("SIGTERM");
      await exit;
    },
  };
}
