// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import {
  type ControlPlane,
  ensureNamespace,
  isLiveCrossplane,
  refuseBesideCrossplane,
  serveStatus,
  startControlPlane,
} from "@purlin/control-plane";
import { type Logger, newLogger } from "@purlin/function-sdk";
import type { KubeClient } from "@purlin/kube-client";
import { collectDefaultMetrics, Registry } from "prom-client";
import { type CommandInput, isSet, textOption } from "../commands/command-spec.ts";
import type { Io } from "../io.ts";
import { textOf, UserError } from "../user-error.ts";
import { openAccess } from "./start-access.ts";
import { readFunctions, type StartFunctions } from "./start-functions.ts";
import { readStartInput } from "./start-input.ts";
import { openPackages, readPackages, type StartPackages } from "./start-packages.ts";
import { readSettings } from "./start-settings.ts";
import { statusAddresses } from "./status-addresses.ts";

/** `purlin start --kubeconfig FILE` */
export async function run(typed: CommandInput, io: Io): Promise<undefined> {
  const log = newLogger({ debug: isSet(typed, "debug"), write: (line) => io.stderr.write(line) });
  const { input, unused } = readStartInput(typed, io);
  for (const setting of unused) log.info("setting has no effect", { ...setting });
  const settings = readSettings(input);
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
  await told(alone(io.signal));
  await told(ensureLeaseNamespace(client, namespace, io.signal));
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const identity = `${hostname()}_${randomUUID()}`;
  log.info("starting", { server: plan.server, namespace, identity });
  await using opened = await openPackages(input, io, { ...plan.packages, namespace, log });
  const { packages } = opened;
  const plane = startControlPlane({
    client,
    packages,
    functions: { ...plan.functions, security: plan.functions.security ?? packages.security },
    settings: plan.settings,
    election: isSet(input, "leaderElection") ? { namespace, identity } : undefined,
    beforeStart: alone,
    registry,
    log,
  });
  await using _plane = plane;
  await using status = await told(serveStatus(plane, { ...statusAddresses(input, io.env), registry }));
  log.info("serving", { metrics: status.metricsAddress ?? "off", health: status.healthAddress ?? "off" });
  await told(untilOver(plane, io));
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

/** What the surroundings lack is the user's to put right. */
async function told<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    const exitCode = isLiveCrossplane(error) ? 3 : 1;
    throw new UserError(textOf(error), { cause: error, exitCode });
  }
}
