// SPDX-License-Identifier: Apache-2.0

import { join } from "node:path";
import { type Clock, type Log, systemClock } from "@purlin/base";
import {
  createDeletionGuard,
  createUsageGuard,
  type DeletionGuard,
  functionRevisionType,
  packageLabel,
} from "@purlin/composition";
import {
  type ControlPlane,
  type ControlPlaneDeps,
  collectRegularly,
  defaultNamespace,
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
  type ProcessState,
  type SandboxSupport,
  type SourceOptions,
} from "@purlin/function-process";
import { isServing, readRevision } from "@purlin/function-runner";
import { mastersGroup, type User } from "@purlin/kube-apiserver";
import { createDirectTransport, createKubeClient, type InformerPool, type KubeClient } from "@purlin/kube-client";
import { printJson } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  createDeniedRequests,
  digestsOfRevisions,
  type ProviderHost,
  packageControllerName,
  packageTypes,
  type WebhookTarget,
} from "@purlin/package-manager";
import { openRunStore, type RunStore, runsDocument } from "@purlin/run-store";
import { Registry } from "prom-client";
import { controlPlaneRoles, controlPlaneUser, grantorUser, simulatorRoles } from "../apiserver/controller-roles.ts";
import { type EmbeddedServer, type EmbeddedServerOptions, startEmbeddedServer } from "../apiserver/embedded-server.ts";
import { simulateWorkloads } from "../apiserver/server-options.ts";
import { eachOnce, type Io } from "../io.ts";
import { processesDocument } from "../top/usage.ts";
import { UserError } from "../user-error.ts";
import { type KeptRegistry, startKeptRegistry } from "./kept-registry.ts";
import { followFunctions, guardDevelopment, sourceFolders, upTrust, wakeComposites } from "./source-functions.ts";
import { followProviders, openSourceProviders, type SourceProviders } from "./source-providers.ts";
import type { UpOptions } from "./up-options.ts";

/** A whole control plane in this process. */
export interface EmbeddedPlane extends AsyncDisposable {
  readonly embedded: EmbeddedServer;
  /** As the operator. */
  readonly client: KubeClient;
  readonly plane: ControlPlane;
  /** Those of the controllers. */
  readonly informers: InformerPool;
  readonly processes: FunctionProcesses;
  /** Where the source files of functions may be. */
  readonly sources: SourceOptions;
  readonly packages: PackageManagement;
  readonly registry: KeptRegistry;
}

/** Callbacks while it runs. */
interface PlaneDeps {
  readonly io: Io;
  readonly log: Log;
  readonly warn: (text: string) => void;
  readonly onFunctionChange: (process: FunctionProcess) => void;
  /** Called for a save of a function's source; the new version starts by itself unless given. */
  readonly onSourceSave?: ((process: FunctionProcess) => void) | undefined;
  /** By which the registry is collected; the machine's own unless given. */
  readonly clock?: Clock | undefined;
}

type DocumentsOf = NonNullable<EmbeddedServerOptions["documents"]>;

/** The user that owns the control plane. */
export const operator: User = { name: "admin", groups: [mastersGroup] };

/** Starts API server, registry, controllers and functions. Resolves when all controllers run. */
export async function startEmbeddedPlane(options: UpOptions, deps: PlaneDeps): Promise<EmbeddedPlane> {
  const { io, log, warn, clock = systemClock } = deps;
  if (options.requireSandbox === true) refuseWithout(await findSandbox());
  await using starting = new AsyncDisposableStack();
  starting.defer(() => functionFeatures?.sink?.close());
  for (const setting of options.unused ?? []) log.info("setting has no effect", { ...setting });
  let functions: FunctionProcesses | undefined;
  const onClockJump = (byMs: number): void => {
    log.info("system clock changed", { milliseconds: Math.round(byMs) });
    functions?.checkCertificates();
  };
  const metrics = new Registry();
  const { authorization = "rbac", functionFeatures } = options;
  const roles = [...controlPlaneRoles, ...(options.workloads === "simulate" ? simulatorRoles : [])];
  let runs: RunStore | undefined;
  const documents: DocumentsOf = (path, query) =>
    processesDocument(functions?.list() ?? [], path) ?? (runs && runsDocument(runs, path, query));
  const webhookTargets = new Map<string, WebhookTarget>(options.webhookTargets);
  const denied = createDeniedRequests(defaultNamespace);
  const hooks = { guardDelete: deletionGuard(options), onDenied: denied.record };
  const others = { otherMetrics: () => metrics.metrics(), documents, webhookTargets, ...hooks };
  const serving = { warn, onClockJump, guard: guardDevelopment, roles, ...others };
  const embedded = starting.use(await startEmbeddedServer({ ...options, ...serving }));
  await embedded.bootstrapped;
  const sandbox = await findSandbox();
  runs = openRunStore({ directory: options.directory, redact: options.redact, clock, log, onWarning: warn });
  starting.use(runs);
  const connect = (user: User, agent?: string, more: Parameters<typeof createKubeClient>[1] = {}): KubeClient => {
    const client = createKubeClient(createDirectTransport(embedded.server.handle, user, agent), more);
    starting.defer(() => client.close());
    return client;
  };
  const onWarning = eachOnce((text) => warn(`warning: ${text}`));
  const client = connect(operator, undefined, { onWarning });
  let parts: ControlPlaneDeps | undefined;
  const wake = (functionName: string): void => {
    if (parts !== undefined) void wakeComposites(parts, functionName, log);
  };
  const processes = createProcesses(options, deps, wake);
  functions = processes;
  starting.defer(() => processes.close());
  log.info("function limits are enforced", { mechanism: processes.mechanism });
  const kept = { directory: options.directory, port: options.registryPort, warn };
  const registry = await startKeptRegistry(kept);
  starting.defer(() => registry.close());
  const collect = async (signal: AbortSignal): Promise<void> => {
    // Until the revisions are listed, none is known to be unused.
    if (parts !== undefined) await registry.collect(await digestsOfRevisions(parts.client, signal));
  };
  starting.use(collectRegularly(collect, { clock, log }));
  const settings = settingsOf(options);
  const sources = { cwd: io.cwd, within: await sourceFolders(options, io.cwd) };
  const onSave = (name: string): void => parts?.engine.enqueue(packageControllerName(packageTypes.Provider), { name });
  const built = starting.use(openSourceProviders({ ...options, io, sources, registry, onSave }));
  const packages = await openPackageManagement({
    ...settings,
    dependencyVersions: options.dependencyVersions,
    directory: options.directory,
    ownRegistry: registry.access,
    processes,
    sandbox,
    sourcePackage: built.build,
    providers: { ...apiOf(embedded), grants: connect(grantorUser(authorization), "purlin"), webhookTargets, denied },
    log,
  });
  const plane = startControlPlane({
    client: connect(controlPlaneUser(authorization), "crossplane"),
    packages,
    functions: {
      security: processes.security,
      sources: createSourceRuntime(processes, sources),
      answerLimits: options.answerLimits,
      ...functionFeatures,
    },
    settings,
    registry: metrics,
    runs,
    log,
  });
  starting.defer(() => plane.stop());
  parts = await plane.ready;
  if (options.workloads === "simulate") starting.use(await simulateWorkloads(embedded.server, log, authorization));
  starting.use(followRevisions(parts.informers, wake));
  starting.use(followSources(client, { processes, sources, built }));
  const closing = starting.move();
  const { informers } = parts;
  const running = { embedded, client, plane, informers, processes, sources, packages, registry };
  return { ...running, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

/** Follows the Functions and Providers that run from source files. */
function followSources(
  client: KubeClient,
  following: {
    readonly processes: FunctionProcesses;
    readonly sources: SourceOptions;
    readonly built: SourceProviders;
  },
): AsyncDisposable {
  const { processes, sources, built } = following;
  const informers = [followFunctions(client, processes, sources), followProviders(client, built)];
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(informers.map((informer) => informer.stop()));
    },
  };
}

/** Usages protect unless they are switched off. */
function deletionGuard({ features }: UpOptions): DeletionGuard {
  return createDeletionGuard(features?.usages === false ? undefined : createUsageGuard());
}

function createProcesses(options: UpOptions, deps: PlaneDeps, wake: (functionName: string) => void): FunctionProcesses {
  const logChange = createProcessLog(deps.log);
  return createFunctionProcesses({
    directory: join(options.directory, "functions"),
    // For `purlin render`, like the kubeconfig beside it for other clients.
    clientFolder: join(options.directory, "function-client"),
    env: deps.io.env,
    requireSandbox: options.requireSandbox,
    supervision: { limits: options.functionLimits },
    onSave: deps.onSourceSave,
    onChange: (process) => {
      logChange(process);
      deps.onFunctionChange(process);
      // What a source file composed so far was composed by another version of it. Packages are followed by their revisions.
      const isSource = process.root === undefined;
      if (isSource && process.state.phase === "serving") wake(process.name);
    },
  });
}

function settingsOf({ features, functionRevisionSelectors }: UpOptions) {
  return { ...features, developmentFunctions: true, developmentTrust: upTrust, functionRevisionSelectors };
}

/** Where Providers reach the API server, and the authority that they trust. */
function apiOf({ url, server }: EmbeddedServer): Pick<ProviderHost, "api" | "authority"> {
  const api = { host: "127.0.0.1", port: Number(new URL(url).port) };
  return { api, authority: () => server.certificates.authority.certPem };
}

/** Says what is missing, before anything is started. */
function refuseWithout(sandbox: SandboxSupport): void {
  if (sandbox.isSupported) return;
  throw new UserError(
    `--require-sandbox: functions cannot be sandboxed here: ${sandbox.reason}; install bubblewrap ("apt install bubblewrap", or the package of that name elsewhere) and allow user namespaces, or start without --require-sandbox`,
  );
}

/** Logs each new state of a function's process once: restarts that fail alike are one line. */
function createProcessLog(log: Log): (process: FunctionProcess) => void {
  const logged = new WeakMap<FunctionProcess, string>();
  return (process) => {
    const text = stateOf(process.state);
    if (logged.get(process) === text) return;
    logged.set(process, text);
    const fields = { function: process.name };
    if (process.state.phase === "serving" && process.state.problem === undefined) log.info("function serves", fields);
    else log.error("function failed", { ...fields, error: text });
  };
}

function stateOf(state: ProcessState): string {
  return state.phase === "starting" ? "" : (state.problem ?? state.phase);
}

/**
 * Calls back with the name of a Function whenever steps may resolve to another of its revisions than before: one begins to serve or
 * no longer does, or its labels change.
 */
function followRevisions(informers: InformerPool, onChange: (functionName: string) => void): AsyncDisposable {
  const lease = informers.acquire(functionRevisionType);
  const serving = new Map<string, string>();
  const stop = lease.informer.subscribe(({ type, object }) => {
    const { name = "", labels = {} } = object.metadata;
    const before = serving.get(name);
    const now = type === "deleted" ? undefined : choiceOf(object);
    if (now === before) return;
    if (now === undefined) serving.delete(name);
    else serving.set(name, now);
    onChange(labels?.[packageLabel] ?? "");
  });
  return {
    async [Symbol.asyncDispose]() {
      stop();
      await lease.release();
    },
  };
}

/** What steps choose a revision by; undefined while it serves none. */
function choiceOf(object: KubeObject): string | undefined {
  const revision = readRevision(object);
  return isServing(revision) ? printJson([revision.number, revision.digest, revision.labels]) : undefined;
}
