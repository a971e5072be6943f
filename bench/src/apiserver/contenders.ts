// SPDX-License-Identifier: Apache-2.0
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { startRealCluster } from "../../../tools/peers/real-cluster.ts";
import { builtCommand } from "../../../tools/publish/built-command.ts";
import { residentMemory } from "../measure/process-usage.ts";
import { type Access, readAccess } from "./access.ts";

/** A running API server with its store, on an empty directory of the disk. */
export interface Contender extends AsyncDisposable {
  readonly access: Access;
  readonly pids: readonly number[];
  /** The data directory of the embedded server. */
  readonly directory?: string;
}

/** Resident memory of all its processes in MiB. */
export function memoryOf({ pids }: Contender): number {
  return pids.reduce((sum, pid) => sum + residentMemory(pid), 0);
}

/** The embedded server as `purlin apiserver` runs it. */
export async function startEmbedded(): Promise<Contender> {
  const directory = mkdtempSync(join(tmpdir(), "bench-apiserver-"));
  const child = spawn(process.execPath, [builtCommand(), "apiserver", "--data-dir", directory], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await ready(child);
  return {
    access: readAccess(join(directory, "kubeconfig")),
    pids: [child.pid ?? 0],
    directory,
    [Symbol.asyncDispose]: async () => {
      const exit = once(child, "exit");
      child.kill("SIGTERM");
      await exit;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function ready(child: ChildProcess): Promise<void> {
  if (child.stdout === null) throw new Error("the server has no output to wait for");
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), "line"),
    once(child, "exit"),
  ])) as unknown[];
  if (typeof line !== "string") throw new Error(`purlin apiserver left with ${String(line)}`);
}

/** kube-apiserver and etcd, as they come. */
export async function startPair(): Promise<Contender> {
  const { server, caPem, admin, pids, stop } = await startRealCluster({ isDurable: true });
  return {
    access: { server, caPem, ...admin },
    pids: [pids.etcd, pids.apiserver],
    [Symbol.asyncDispose]: stop,
  };
}
