// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import {
  type ControlPlane,
  type ControlPlaneParts,
  collectRegularly,
  openPackageManagement,
  type PackageManagement,
  startControlPlane,
} from "@purlin/control-plane";
import {
  createFunctionProcesses,
  createSourceRuntime,
  type FunctionProcess,
  type FunctionProcesses,
  findSandbox,
  type SandboxSupport,
} from "@purlin/function-process";
import { MASTERS_GROUP } from "@purlin/kube-apiserver";
import { createDirectTransport, createKubeClient, type InformerPool, type KubeClient } from "@purlin/kube-client";
import { type Clock, type Log, systemClock } from "@purlin/kube-controller";
import { digestsOfRevisions } from "@purlin/package-manager";
import { type EmbeddedServer, startEmbeddedServer } from "../apiserver/embedded-server.ts";
import { eachOnce } from "../cluster/each-once.ts";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";
import { followFunctions, upTrust } from "./follow-functions.ts";
import { followRevisions } from "./follow-revisions.ts";
import { type KeptRegistry, startKeptRegistry } from "./kept-registry.ts";
import { createProcessLog } from "./process-log.ts";
import { sourceFolders } from "./source-folders.ts";
import type { UpOptions } from "./up-options.ts";
import { wakeComposites } from "./wake-composites.ts";

/** A whole control plane in this process. */
export interface EmbeddedPlane extends AsyncDisposable {
  readonly embedded: EmbeddedServer;
  /** As the operator. */
  readonly client: KubeClient;
  readonly plane: ControlPlane;
  /** Those of the controllers. */
  readonly informers: InformerPool;
  readonly processes: FunctionProcesses;
  readonly packages: PackageManagement;
  readonly registry: KeptRegistry;
}

/** Who is told what while it runs. */
export interface PlaneSurroundings {
  readonly io: Io;
  readonly log: Log;
  readonly warn: (text: string) => void;
  readonly onFunctionChange: (process: FunctionProcess) => void;
  /** By which the registry is collected; the machine's own unless given. */
  readonly clock?: Clock | undefined;
}

const operator = { name: "admin", groups: [MASTERS_GROUP] };

/** Starts API server, registry, controllers and functions. Resolves when all controllers run. */
export async function startEmbeddedPlane(options: UpOptions, surroundings: PlaneSurroundings): Promise<EmbeddedPlane> {
  const { io, log, warn, clock = systemClock } = surroundings;
  const sandbox = await findSandbox();
  if (options.requireSandbox === true) refuseWithout(sandbox);
  await using starting = new AsyncDisposableStack();
  let functions: FunctionProcesses | undefined;
  const onClockJump = (byMs: number): void => {
    log.info("the clock was set", { milliseconds: Math.round(byMs) });
    functions?.checkCertificates();
  };
  const embedded = starting.use(await startEmbeddedServer({ ...options, warn, onClockJump }));
  const connect = (agent?: string, onWarning?: (text: string) => void): KubeClient => {
    const transport = createDirectTransport(embedded.server.handle, operator, agent);
    const client = createKubeClient(transport, onWarning && { onWarning });
    starting.defer(() => client.close());
    return client;
  };
  const client = connect(
    undefined,
    eachOnce((text) => warn(`warning: ${text}`)),
  );
  let parts: ControlPlaneParts | undefined;
  let packages: PackageManagement | undefined;
  const wake = (functionName: string): void => {
    if (parts !== undefined) void wakeComposites(parts, functionName, log);
  };
  const logChange = createProcessLog(log);
  const processes = createFunctionProcesses({
    directory: join(options.directory, "functions"),
    // For `purlin render`, like the kubeconfig beside it for everybody else.
    clientFolder: join(options.directory, "function-client"),
    env: io.env,
    requireSandbox: options.requireSandbox,
    supervision: { limits: options.functionLimits },
    onChange: (process) => {
      logChange(process);
      surroundings.onFunctionChange(process);
      packages?.functionChanged(process.name);
      // What a source file composed so far was composed by another version of it. Packages are followed by their revisions.
      const isSource = process.root === undefined;
      if (isSource && process.state.phase === "serving") wake(process.name);
    },
  });
  functions = processes;
  starting.defer(() => processes.close());
  log.info("limits of functions are enforced by", { mechanism: processes.mechanism });
  const kept = { directory: options.directory, port: options.registryPort, warn };
  const registry = await startKeptRegistry(kept);
  starting.defer(() => registry.close());
  const collect = async (signal: AbortSignal): Promise<void> => {
    // Before anybody knows the revisions, none is known to be done without.
    if (parts !== undefined) await registry.collect(await digestsOfRevisions(parts.client, signal));
  };
  starting.use(collectRegularly(collect, { clock, log }));
  const { functionRevisionSelectors } = options;
  const settings = { developmentFunctions: true, developmentTrust: upTrust, functionRevisionSelectors };
  const sources = { cwd: io.cwd, within: await sourceFolders(options, io.cwd) };
  packages = await openPackageManagement({
    ...settings,
    directory: options.directory,
    ownRegistry: registry.access,
    processes,
    sandbox,
    log,
  });
  const plane = startControlPlane({
    client: connect("crossplane"),
    packages,
    functions: {
      security: processes.security,
      sources: createSourceRuntime(processes, sources),
      answerLimits: options.answerLimits,
    },
    settings,
    log,
  });
  starting.defer(() => plane.stop());
  parts = await plane.ready;
  starting.use(followRevisions(parts.informers, wake));
  const following = followFunctions(client, processes, sources);
  starting.defer(() => following.stop());
  const closing = starting.move();
  const { informers } = parts;
  const running = { embedded, client, plane, informers, processes, packages, registry };
  return { ...running, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

/** Says what is missing, before anything is started. */
function refuseWithout(sandbox: SandboxSupport): void {
  if (sandbox.isSupported) return;
  throw new UserError(
    `--require-sandbox: functions cannot be sandboxed here: ${sandbox.reason}; install bubblewrap ("apt install bubblewrap", or the package of that name elsewhere) and allow user namespaces, or start without --require-sandbox`,
  );
}
