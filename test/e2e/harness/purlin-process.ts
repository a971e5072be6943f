// SPDX-License-Identifier: Apache-2.0
// The command in a process of its own, which a test may kill.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import {
  accessFromKubeconfig,
  createHttpsTransport,
  createKubeClient,
  type KubeClient,
  type Kubeconfig,
} from "@purlin/kube-client";
import { load } from "js-yaml";
import { purlinCommand } from "../../../packages/cli/test/spawn-purlin.ts";
import { inTime } from "./in-time.ts";
import { eventually } from "./plane.ts";

/** A command that runs, or ran. */
export interface PurlinProcess extends AsyncDisposable {
  readonly pid: number;
  /** Everything it has said so far, on both streams. */
  output(): string;
  /** Waits until it has said something; fails when it ends without. */
  says(text: string): Promise<void>;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
  /** Asks it to stop; resolves to its exit code. */
  stop(): Promise<number | null>;
}

/** Starts a command line. */
export function startPurlin(...args: readonly string[]): PurlinProcess {
  return startPurlinIn(process.env, args);
}

/** Starts a command line in another environment than ours, through a command that becomes it if one is given. */
export function startPurlinIn(
  env: NodeJS.ProcessEnv,
  args: readonly string[],
  through: readonly string[] = [],
): PurlinProcess {
  const [program = "", ...words] = [...through, process.execPath, purlinCommand, ...args];
  const child = spawn(program, words, { env, stdio: ["ignore", "pipe", "pipe"] });
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => void said.push(text));
  }
  const output = (): string => said.join("");
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (!isOver()) {
      const exit = once(child, "exit");
      child.kill(signal);
      await inTime(`"purlin ${args[0]}" after ${signal}`, exit);
    }
    return child.exitCode;
  };
  return {
    pid: child.pid ?? 0,
    output,
    async says(text) {
      await eventually(`"purlin ${args[0]}" says ${text}`, async () => output().includes(text) || isOver(), output);
      if (!output().includes(text)) throw new Error(`"purlin ${args.join(" ")}" has ended: ${output()}`);
    },
    kill: async () => void (await end("SIGKILL")),
    stop: () => end("SIGTERM"),
    [Symbol.asyncDispose]: async () => void (await end("SIGKILL")),
  };
}

/** A client that reaches the API server of a kubeconfig. */
export async function clientOf(file: string): Promise<KubeClient> {
  const access = await accessFromKubeconfig(load(readFileSync(file, "utf8")) as Kubeconfig, { file, env: {} });
  return createKubeClient(createHttpsTransport(access, { userAgent: "users" }));
}
