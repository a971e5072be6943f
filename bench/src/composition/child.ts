// SPDX-License-Identifier: Apache-2.0
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { builtCommand } from "../../../tools/publish/built-command.ts";

/** A command that runs until it is stopped. */
export interface Child extends AsyncDisposable {
  readonly pid: number;
}

/** Starts the built command and waits until it has printed a line that is `awaited`. */
export async function startCommand(args: readonly string[], awaited: (line: string) => boolean): Promise<Child> {
  const child = spawn(process.execPath, [builtCommand(), ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const said: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on("line", (line) => {
      if (said.push(line) > 20) said.shift();
      if (awaited(line)) resolve();
    });
  }
  child.once("exit", (code) => reject(new Error(`purlin ${args[0]} left with ${code}:\n${said.join("\n")}`)));
  await promise;
  return { pid: child.pid ?? 0, [Symbol.asyncDispose]: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  await exit;
}
