// SPDX-License-Identifier: Apache-2.0
// A control plane that is killed: what its functions hid from it ends all the same, and nothing else does.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { RunnerAttack } from "./harness/attack-runner.ts";
import {
  childrenOf,
  configurations,
  makePlace,
  processesWith,
  type Runner,
  startRunner,
} from "./harness/configurations.ts";

const daemons = ["daemon", "daemonOfDaemon", "daemonWithoutEnvironment", "daemonThatIgnores"];
/** The program that started a daemon, and the daemon. */
const least = 2;

for (const configuration of configurations) {
  describe(configuration.title, () => {
    const place = makePlace(configuration);
    after(() => place[Symbol.dispose]());

    const start = async (token: string): Promise<Runner> => {
      const attacks = daemons.map((name): RunnerAttack => ({ name, token, limits: {}, untilMs: 1, awaits: "" }));
      const runner = startRunner(configuration, place, { attacks, isForKilling: true });
      await runner.outcome;
      await until(() => processesWith(token).length >= least * daemons.length);
      return runner;
    };

    test("daemons end when the control plane is killed", async () => {
      const token = randomUUID();
      const runner = await start(token);
      process.kill(runner.pid, "SIGKILL");
      await until(() => ofFunctions(token, runner).length === 0);
    });

    test("daemons end when the next control plane starts, and processes of others do not", async () => {
      const token = randomUUID();
      const runner = await start(token);
      using foreign = startForeign(configuration.uid);
      process.kill(runner.pid, "SIGSTOP");
      const guards = childrenOf(runner.pid);
      for (const guard of guards) process.kill(-guard, "SIGKILL");
      process.kill(runner.pid, "SIGKILL");
      await runner.ended;
      const next = startRunner(configuration, place, { attacks: [] });
      await next.outcome;
      await until(() => ofFunctions(token, runner).length === 0);
      await next.ended;
      assert.ok(isRunning(foreign.pid), "a process that the control plane did not start continues");
    });
  });
}

/** The token is in the command line of the runner as well. */
function ofFunctions(token: string, { pid }: Runner): readonly number[] {
  return processesWith(token).filter((one) => one !== pid);
}

function startForeign(uid: number | undefined): Disposable & { readonly pid: number } {
  const user = uid === undefined ? [] : ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--"];
  const [command = "", ...args] = [...user, "sleep", "120"];
  const child = spawn(command, args, { stdio: "ignore", detached: true });
  return { pid: child.pid ?? 0, [Symbol.dispose]: () => void child.kill("SIGKILL") };
}

function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** Waits until something is so. A test that waits in vain is ended by the runner. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(100);
}
