// SPDX-License-Identifier: Apache-2.0
// `purlin up` in a process of its own, on a folder that outlives it, with the programs it runs for packages.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeClient } from "@purlin/kube-client";
import { bundleCommand, bundlePath } from "@purlin/oci";
import { type UserView, userView } from "./plane.ts";
import { descendantsOf, type SeenProcess } from "./process-tree.ts";
import { clientOf, type PurlinProcess, startPurlinIn } from "./purlin-process.ts";

/** A control plane that can be stopped, killed and started again. */
export interface UpMachine extends AsyncDisposable {
  readonly users: KubeClient;
  readonly view: UserView;
  /** Everything the running control plane has printed since its start. */
  output(): string;
  /** The processes that are functions. */
  functions(): readonly SeenProcess[];
  /** Everything that runs below the control plane. */
  children(): readonly SeenProcess[];
  /** kill -9 of the control plane alone. */
  kill(): Promise<void>;
  stop(): Promise<void>;
  /** Starts it again on the same folder, at the same address unless that was taken meanwhile, with the same flags unless others are given. */
  start(flags?: readonly string[]): Promise<void>;
}

export const selectorsFlag = "--enable-function-revision-selectors";

/** Starts `purlin up` on an empty folder. */
export async function startUpMachine(env: NodeJS.ProcessEnv, first: readonly string[]): Promise<UpMachine> {
  await using starting = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "e2e-up-"));
  starting.defer(() => rmSync(directory, { recursive: true, force: true }));
  const up = async (flags: readonly string[]): Promise<PurlinProcess> => {
    const process = startPurlinIn(env, ["up", "--data-dir", directory, ...flags]);
    await process.says("control plane at");
    return process;
  };
  let current = first;
  let running = await up(current);
  starting.defer(() => running[Symbol.asyncDispose]());
  const connect = (): Promise<KubeClient> => clientOf(join(directory, "kubeconfig"));
  let users = await connect();
  starting.defer(() => users.close());
  const closing = starting.move();
  return {
    get users() {
      return users;
    },
    get view() {
      return userView(users);
    },
    output: () => running.output(),
    children: () => descendantsOf(running.pid),
    functions: () => functionsBelow(running.pid),
    kill: () => running.kill(),
    stop: async () => void (await running.stop()),
    async start(flags = current) {
      current = flags;
      running = await up(current);
      await users.close();
      users = await connect();
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/**
 * The functions that run below a process. Guards and sandboxes have all words of the function's command line in their own; only the
 * function itself is a Node that was started with them.
 */
export function functionsBelow(pid: number): readonly SeenProcess[] {
  const [, ...words] = bundleCommand;
  return descendantsOf(pid).filter(({ command: [, ...args] }) =>
    words.every((word, at) => args[at] === word || (word === `/${bundlePath}` && args[at]?.endsWith(word))),
  );
}
