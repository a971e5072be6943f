// SPDX-License-Identifier: Apache-2.0
// A control plane in this process that installs packages, with a registry beside it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPackageManagement, startControlPlane } from "@purlin/control-plane";
import {
  createFunctionProcesses,
  type FunctionProcesses,
  findSandbox,
  type SandboxSupport,
} from "@purlin/function-process";
import { createDiallingRunner, type DiallingRunner } from "@purlin/function-runner";
import { mastersGroup, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, createKubeClient, type KubeClient } from "@purlin/kube-client";
import { type ContentStore, createRegistryClient, openContentStore, type Registry, startRegistry } from "@purlin/oci";

/** What figures are taken of. */
export interface PackagePlane extends AsyncDisposable {
  readonly users: KubeClient;
  readonly registry: Registry;
  readonly registryClient: ReturnType<typeof createRegistryClient>;
  /** Where packages are built. */
  readonly store: ContentStore;
  readonly processes: FunctionProcesses;
  readonly runner: DiallingRunner;
  readonly directory: string;
}

const admin = { name: "admin", groups: [mastersGroup] };

/** The sandbox of this machine, without which nothing here is worth measuring. */
export async function requireSandbox(): Promise<SandboxSupport> {
  const sandbox = await findSandbox();
  if (!sandbox.isSupported) throw new Error(`${sandbox.reason}: install bubblewrap`);
  return sandbox;
}

/** Starts API server, registry and controllers on empty folders. */
export async function startPackagePlane(sandbox: SandboxSupport): Promise<PackagePlane> {
  await using starting = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "bench-packages-"));
  starting.defer(() => rmSync(directory, { recursive: true, force: true }));
  const server = await startApiServer({ kinds: builtinKinds, directory: join(directory, "store") });
  starting.defer(() => server.close());
  const connect = (agent: string): KubeClient =>
    starting.adopt(createKubeClient(createDirectTransport(server.handle, admin, agent)), (client) => client.close());
  const processes = createFunctionProcesses({
    directory: join(directory, "functions"),
    env: { PATH: "/usr/bin:/bin" },
  });
  starting.defer(() => processes.close());
  const packages = await openPackageManagement({ directory, processes, sandbox, functionRevisionSelectors: true });
  const plane = startControlPlane({
    client: connect("crossplane"),
    functions: { security: processes.security },
    packages,
    settings: { functionRevisionSelectors: true },
  });
  starting.defer(() => plane.stop());
  await plane.ready;
  const registry = await startRegistry({ directory: join(directory, "registry") });
  starting.defer(() => registry.close());
  // Each call of the bench may have a connection of its own, whatever the function is called.
  const { current, open } = processes.security;
  const runner = createDiallingRunner({ security: { current, ...(open && { open }) } });
  starting.defer(() => runner.close());
  const store = await openContentStore(join(directory, "build"));
  const users = connect("users");
  const owned = starting.move();
  return {
    users,
    registry,
    registryClient: createRegistryClient(),
    store,
    processes,
    runner,
    directory,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
