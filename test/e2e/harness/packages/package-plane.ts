// SPDX-License-Identifier: Apache-2.0
// A control plane that manages packages, with a registry, on the server the suite was asked to run on.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "@purlin/base";
import { type ControlPlaneSettings, startControlPlane } from "@purlin/control-plane";
import { createKubeClient, type KubeTransport } from "@purlin/kube-client";
import { inTime } from "../in-time.ts";
import { type UserView, userView } from "../plane.ts";
import { type Server, startServer } from "../server.ts";
import { createClusterMachine } from "./cluster-machine.ts";
import { type FunctionRegistry, startFunctionRegistry } from "./function-registry.ts";
import type { PackageMachine } from "./package-machine.ts";
import { createProcessMachine } from "./process-machine.ts";

/** What the control plane under test shall be. */
export interface PackagePlaneWish {
  readonly functionRevisionSelectors: boolean;
  readonly functionRollouts?: boolean;
  readonly settings?: Partial<ControlPlaneSettings>;
  /** Changes the transport of each start of the control plane. */
  readonly transport?: (transport: KubeTransport) => KubeTransport;
  /** The clock of the control plane, not that of functions. */
  readonly clock?: Clock;
  /** Starts the control plane in a process of its own instead of in this one. */
  readonly startProcess?: (parts: ProcessParts) => Promise<AsyncDisposable>;
}

/** What a control plane in a process of its own needs to know. */
export interface ProcessParts {
  readonly kubeconfig: string;
  /** A folder that outlives the process. */
  readonly directory: string;
  readonly machine: PackageMachine;
}

/** How a control plane is replaced. */
export interface RestartOptions {
  /** Functions continue while there is no control plane. */
  readonly functionsLiveOn?: boolean;
}

/** A running control plane that manages packages. */
export interface PackagePlane extends UserView, AsyncDisposable {
  readonly server: Server["name"];
  readonly registry: FunctionRegistry;
  readonly machine: PackageMachine;
  /** Whether the flag is on. */
  readonly functionRevisionSelectors: boolean;
  /** The path of a kubeconfig of its server, for programs that are not ours. */
  kubeconfig(): Promise<string>;
  /** Ends the control plane and starts it again with the flag in the given position, on the same server. */
  restart(functionRevisionSelectors: boolean, options?: RestartOptions): Promise<void>;
}

/** Starts server, registry and control plane. */
export async function startPackagePlane({
  functionRevisionSelectors,
  functionRollouts,
  settings,
  transport,
  clock,
  startProcess,
}: PackagePlaneWish): Promise<PackagePlane> {
  await using starting = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "e2e-packages-"));
  starting.defer(() => rmSync(directory, { recursive: true, force: true }));
  const server = await startServer();
  starting.defer(() => inTime("the API server", server.stop()));
  const users = createKubeClient(await server.connect("users"));
  starting.defer(() => users.close());
  const registry = await startFunctionRegistry(directory, server.name === "embedded");
  starting.defer(() => inTime("the registry", registry[Symbol.asyncDispose]()));
  const machine =
    server.name === "embedded"
      ? createProcessMachine(directory)
      : await createClusterMachine(directory, createKubeClient(await server.connect("kubelet")));
  starting.defer(() => inTime("the machine that functions run on", machine[Symbol.asyncDispose]()));
  const open = async (flag: boolean): Promise<AsyncDisposable> =>
    startProcess?.({ kubeconfig: await server.kubeconfig(), directory, machine }) ??
    startTerm({ server, machine, settings, transport, clock, flag, functionRollouts });
  let isOn = functionRevisionSelectors;
  let term = await open(isOn);
  const endTerm = (): Promise<void> => inTime("the control plane", term[Symbol.asyncDispose]());
  starting.defer(endTerm);
  const closing = starting.move();
  return {
    ...userView(users),
    server: server.name,
    registry,
    machine,
    kubeconfig: () => server.kubeconfig(),
    get functionRevisionSelectors() {
      return isOn;
    },
    async restart(flag, { functionsLiveOn = false } = {}) {
      if (functionsLiveOn) machine.spare();
      await endTerm();
      isOn = flag;
      term = await open(flag);
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** From one start of the control plane to its end. */
async function startTerm({
  server,
  machine,
  settings,
  transport = (one) => one,
  clock,
  flag,
  functionRollouts = false,
}: {
  readonly server: Server;
  readonly machine: PackageMachine;
  readonly settings: PackagePlaneWish["settings"];
  readonly transport: PackagePlaneWish["transport"];
  readonly clock: PackagePlaneWish["clock"];
  readonly flag: boolean;
  readonly functionRollouts: boolean | undefined;
}): Promise<AsyncDisposable> {
  await using starting = new AsyncDisposableStack();
  const client = createKubeClient(transport(await server.connect("crossplane")));
  starting.defer(() => client.close());
  const { packages, functions } = starting.use(await machine.begin(flag, functionRollouts));
  const plane = startControlPlane({
    client,
    packages,
    functions,
    clock,
    settings: { ...settings, functionRevisionSelectors: flag, functionRollouts },
  });
  starting.use(plane);
  await plane.ready;
  return starting.move();
}
