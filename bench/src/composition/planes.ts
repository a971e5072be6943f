// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeClient } from "@purlin/kube-client";
import { purlinFunction } from "../../../tools/peers/function-commands.ts";
import { startFunction } from "../../../tools/peers/function-process.ts";
import { startRealCluster } from "../../../tools/peers/real-cluster.ts";
import { builtCommand } from "../../../tools/publish/built-command.ts";
import { type Access, readAccess } from "../apiserver/access.ts";
import { startCommand } from "./child.ts";
import { type FunctionName, functionNames, functionObject, servingRevision, unmanaged } from "./manifests.ts";
import { definePairs, serveAt, userOf } from "./setup.ts";
import { descendants, type Processes } from "./usage.ts";

/** A control plane with two functions, on an API server, that knows the kind to compose. */
export interface Plane extends AsyncDisposable {
  readonly access: Access;
  readonly users: KubeClient;
  readonly processes: Processes;
  /** Stops the control plane alone. */
  stopControlPlane(): Promise<void>;
}

const sources = join(import.meta.dirname, "..", "..", "functions", "composition");

/** The source file of a function. */
export const sourceOf = (name: FunctionName): string => join(sources, `${name}.ts`);

/** `purlin start` on kube-apiserver and etcd, with functions that serve mutual TLS in processes of their own. */
export async function startOnCluster(): Promise<Plane> {
  await using starting = new AsyncDisposableStack();
  const certs = temporaryFolder(starting);
  spawnSync(process.execPath, [builtCommand(), "function", "certs", certs], { stdio: "ignore" });
  const cluster = await startRealCluster({ isDurable: true });
  starting.defer(() => cluster.stop());
  const access = { server: cluster.server, caPem: cluster.caPem, ...cluster.admin };
  const users = starting.adopt(userOf(access), (client) => client.close());
  const addresses = ["--metrics-address", "0", "--health-address", "0"];
  const flags = ["start", "--kubeconfig", cluster.kubeconfig, "--tls-client-certs-dir", certs, ...addresses];
  const plane = starting.use(await startCommand(flags, (line) => line.includes("all controllers run")));
  const pids: number[] = [];
  for (const name of functionNames) {
    const { pid, port } = starting.use(await startFunction(purlinFunction(sourceOf(name), { certsDir: certs })));
    pids.push(pid);
    await users.create(functionObject(name, unmanaged));
    await serveAt(users, servingRevision(name, port));
  }
  await definePairs(users);
  const { etcd, apiserver } = cluster.pids;
  const processes = { "API server": [apiserver], etcd: [etcd], "control plane": [plane.pid], functions: pids };
  return finished(starting, {
    access,
    users,
    processes,
    stopControlPlane: async () => await plane[Symbol.asyncDispose](),
  });
}

/** `purlin up`: API server and controllers in one process, which starts the functions. */
export async function startEmbedded(): Promise<Plane> {
  await using starting = new AsyncDisposableStack();
  const directory = temporaryFolder(starting);
  const plane = starting.use(
    await startCommand(["up", sources, "--data-dir", directory], (line) => line.includes("applied")),
  );
  const access = readAccess(join(directory, "kubeconfig"));
  const users = starting.adopt(userOf(access), (client) => client.close());
  await definePairs(users);
  const processes = { "control plane and API server": [plane.pid], functions: descendants(plane.pid) };
  return finished(starting, {
    access,
    users,
    processes,
    stopControlPlane: async () => await plane[Symbol.asyncDispose](),
  });
}

function temporaryFolder(starting: AsyncDisposableStack): string {
  const folder = mkdtempSync(join(tmpdir(), "bench-composition-"));
  starting.defer(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function finished(starting: AsyncDisposableStack, parts: Omit<Plane, typeof Symbol.asyncDispose>): Plane {
  const owned = starting.move();
  return { ...parts, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
