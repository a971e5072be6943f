// SPDX-License-Identifier: Apache-2.0

import { randomUUID } from "node:crypto";
import { access, constants } from "node:fs/promises";
import { hostname } from "node:os";
import { resolve } from "node:path";
import type { Log } from "@purlin/base";
import {
  type ControlPlane,
  type FunctionOptions,
  isLiveCrossplane,
  refuseBesideCrossplane,
  serveRuns,
  serveStatus,
  startControlPlane,
} from "@purlin/control-plane";
import type { TlsSource } from "@purlin/function-runner";
import { type Logger, newLogger } from "@purlin/function-sdk";
import {
  type ClusterAccess,
  createHttpsTransport,
  createKubeClient,
  inClusterAccess,
  type KubeClient,
} from "@purlin/kube-client";
import { ensureNamespace } from "@purlin/package-manager";
import { openRunStore, type RunStore } from "@purlin/run-store";
import { collectDefaultMetrics, Registry } from "prom-client";
import { kubeconfigVariable, readAccess } from "../cluster/cluster-client.ts";
import { explain } from "../files/read-text.ts";
import { readClientCertificates } from "../function-call/probe-target.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, listOption, textOption } from "../options/command-spec.ts";
import { readFunctionLimits } from "../options/function-limits.ts";
import { textOf, UserError } from "../user-error.ts";
import {
  type FunctionFeatures,
  portOption,
  readFunctionFeatures,
  readSettings,
  readStartInput,
} from "./start-input.ts";
import { openPackages, openUsageWebhook, readPackages, type StartPackages } from "./start-services.ts";

/** How functions are called: with the certificates of a folder where one is named, with those of the cluster otherwise. */
interface StartFunctions extends FunctionFeatures, Pick<FunctionOptions, "answerLimits"> {
  readonly security: TlsSource | undefined;
}

/** The addresses of health and metrics; undefined for none. */
interface StatusAddresses {
  readonly metricsAddress: string | undefined;
  readonly healthAddress: string | undefined;
}

/** `purlin start --kubeconfig FILE` */
export async function run(typed: CommandInput, io: Io): Promise<undefined> {
  const log = newLogger({ debug: isSet(typed, "debug"), write: (line) => io.stderr.write(line) });
  const { input, unused } = readStartInput(typed, io);
  for (const setting of unused) log.info("setting has no effect", { ...setting });
  const settings = readSettings(input);
  if (textOption(input, "recorderAddress") !== undefined && textOption(input, "recorderDir") === undefined) {
    throw new UserError("--recorder-address: needs --recorder-dir DIR", { exitCode: 2 });
  }
  const functions = readFunctions(input, io, log);
  const packages = readPackages(input, io);
  const namespace = textOption(input, "namespace") ?? "";
  const { client, server } = await openAccess(input, io, (text) => log.debug("API server warning", { text }));
  try {
    await work(input, io, { client, namespace, log, plan: { settings, functions, packages, server } });
  } finally {
    functions.sink?.close();
    await client.close();
  }
}

interface Work {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly log: Logger;
  readonly plan: {
    readonly settings: ReturnType<typeof readSettings>;
    readonly functions: StartFunctions;
    readonly packages: StartPackages;
    readonly server: string;
  };
}

async function work(input: CommandInput, io: Io, { client, namespace, log, plan }: Work): Promise<void> {
  const alone = (signal: AbortSignal): Promise<void> => refuseBesideCrossplane(client, namespace, signal);
  await asUserError(alone(io.signal));
  await asUserError(ensureLeaseNamespace(client, namespace, io.signal));
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const identity = `${hostname()}_${randomUUID()}`;
  log.info("starting", { server: plan.server, namespace, identity });
  await using webhook = await openUsageWebhook(input, io, { client, namespace, log });
  const beforeStart = async (signal: AbortSignal): Promise<void> => {
    await alone(signal);
    await webhook.configure(signal);
  };
  await using opened = await openPackages(input, io, { ...plan.packages, namespace, log });
  const { packages } = opened;
  using runs = openRecorder(input, io, log);
  const plane = startControlPlane({
    client,
    packages,
    runs,
    functions: { ...plan.functions, security: plan.functions.security ?? packages.security },
    settings: plan.settings,
    election: isSet(input, "leaderElection") ? { namespace, identity } : undefined,
    beforeStart,
    registry,
    log,
  });
  await using _plane = plane;
  await using status = await asUserError(serveStatus(plane, { ...statusAddresses(input, io.env), registry }));
  await using recorded = await asUserError(openRunsServer(input, plane, runs));
  const { metricsAddress: metrics = "off", healthAddress: health = "off" } = status;
  log.info("serving", { metrics, health, ...(recorded.address !== undefined && { runs: recorded.address }) });
  await asUserError(untilOver(plane, io));
  log.info("stopping");
}

/** The leader's Lease needs a namespace; an empty cluster has none yet. */
async function ensureLeaseNamespace(client: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  try {
    await ensureNamespace(client, name, signal);
  } catch (error) {
    throw new Error(`cannot use namespace "${name}" for the leader's Lease: ${textOf(error)}`, { cause: error });
  }
}

/** Ends when the user says so, or with what broke. */
async function untilOver(plane: ControlPlane, { signal }: Io): Promise<void> {
  const asked = Promise.withResolvers<void>();
  const ask = (): void => asked.resolve();
  signal.addEventListener("abort", ask, { once: true });
  if (signal.aborted) ask();
  await Promise.race([asked.promise, plane.ended]);
  signal.removeEventListener("abort", ask);
}

/** The user has to fix what the environment lacks. */
async function asUserError<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    const exitCode = isLiveCrossplane(error) ? 3 : 1;
    throw new UserError(textOf(error), { cause: error, exitCode });
  }
}

/**
 * Reads the flags of metrics and health. An address of "0" switches an endpoint off. A port, as Crossplane's flags have it, is that of an
 * address: on all interfaces in a Pod, where probes come from outside, and on loopback anywhere else.
 */
export function statusAddresses(
  input: CommandInput,
  env: Readonly<Record<string, string | undefined>>,
): StatusAddresses {
  const host = env["KUBERNETES_SERVICE_HOST"] ? "" : "127.0.0.1";
  const address = (name: string, port: string): string | undefined => {
    const text = textOption(input, name) ?? `${host}:${port}`;
    return text === "0" ? undefined : text;
  };
  return {
    metricsAddress: address("metricsAddress", portOption(input, "metricsPort") ?? "8080"),
    healthAddress: address("healthAddress", portOption(input, "healthProbePort") ?? "8081"),
  };
}

/** Reads how functions are called. Throws a UserError when the folder with certificates is of no use. */
function readFunctions(input: CommandInput, io: Io, log: Log): StartFunctions {
  return {
    security: readClientCertificates(input, io, log)?.security,
    answerLimits: readFunctionLimits(input),
    ...readFunctionFeatures(input, io),
  };
}

function openRecorder(input: CommandInput, io: Io, log: Log): RunStore | undefined {
  const directory = textOption(input, "recorderDir");
  if (directory === undefined) return undefined;
  return openRunStore({ directory: resolve(io.cwd, directory), redact: listOption(input, "redact"), log });
}

/** Serves recorded runs at --recorder-address, where one is given. */
async function openRunsServer(
  input: CommandInput,
  plane: ControlPlane,
  runs: RunStore | undefined,
): Promise<AsyncDisposable & { readonly address: string | undefined }> {
  const address = textOption(input, "recorderAddress");
  if (address === undefined || runs === undefined) return { address: undefined, async [Symbol.asyncDispose]() {} };
  const server = await serveRuns(address, plane, runs);
  return { address: server.address, [Symbol.asyncDispose]: () => server.close() };
}

/** The API server to work on, and the way to it. */
interface StartAccess {
  readonly client: KubeClient;
  readonly server: string;
}

/** Connects to what --kubeconfig or $KUBECONFIG names, or to the cluster this process runs in, and checks that it answers. */
export async function openAccess(input: CommandInput, io: Io, onWarning: (text: string) => void): Promise<StartAccess> {
  const found = await findAccess(input, io);
  // Crossplane's name: it is the field manager of plain updates, and what was Crossplane's stays in one hand.
  const client = createKubeClient(createHttpsTransport(found, { userAgent: "crossplane" }), { onWarning });
  try {
    await client.raw({ method: "GET", path: "/version", signal: io.signal });
    return { client, server: found.server };
  } catch (error) {
    await client.close();
    throw new UserError(`cannot reach the API server at ${found.server}: ${textOf(error)}`, { cause: error });
  }
}

/** As Crossplane looks for it: the flag, the variable, the Pod's own cluster. */
async function findAccess(input: CommandInput, io: Io): Promise<ClusterAccess> {
  const file = textOption(input, "kubeconfig");
  try {
    if (file !== undefined) {
      await requireReadable(file, io);
      return await readAccess([resolve(io.cwd, file)], input, io);
    }
    const listed = kubeconfigVariable(io);
    if (listed !== undefined) return await readAccess(listed, input, io);
    const inCluster = await inClusterAccess(io.env);
    if (inCluster !== undefined) return inCluster;
  } catch (error) {
    throw error instanceof UserError ? error : new UserError(textOf(error), { cause: error });
  }
  throw new UserError(
    "no API server configured: use --kubeconfig FILE or $KUBECONFIG (only a Pod finds its own cluster)",
    {
      exitCode: 2,
    },
  );
}

async function requireReadable(file: string, io: Io): Promise<void> {
  await access(resolve(io.cwd, file), constants.R_OK).catch((error: unknown) => {
    throw new UserError(`cannot read --kubeconfig ${file}: ${explain(error)}`, { cause: error, exitCode: 2 });
  });
}
