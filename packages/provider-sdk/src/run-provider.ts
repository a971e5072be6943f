// SPDX-License-Identifier: Apache-2.0
// The process of a provider: its connection, its health, its end.

import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { hostname } from "node:os";
import { parseArgs } from "node:util";
import type { Log } from "@purlin/base";
import {
  accessFromKubeconfig,
  type ClusterAccess,
  createHttpsTransport,
  createKubeClient,
  inClusterAccess,
} from "@purlin/kube-client";
import { printJson } from "@purlin/kube-objects/json";
import { load } from "js-yaml";
import { Registry } from "prom-client";
import { type ManagedResource, managedResourceCrd } from "./managed-resource.ts";
import { type RunningProvider, startProvider } from "./start-provider.ts";

/** A provider that runs as its own process. */
interface ProviderProgram {
  readonly name: string;
  readonly resources: readonly ManagedResource[];
  readonly log?: Log | undefined;
  readonly argv?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Where the ServiceAccount of the Pod is; the usual folder unless given. */
  readonly serviceAccountDirectory?: string | undefined;
  /** Ends the provider, beside SIGTERM and SIGINT. */
  readonly signal?: AbortSignal | undefined;
}

const options = {
  "leader-election": { type: "boolean", default: false },
  "health-port": { type: "string", default: "8080" },
  "print-crds": { type: "boolean", default: false },
} as const;

/**
 * Runs a provider in a Pod, or wherever KUBERNETES_SERVICE_HOST and the files of a ServiceAccount, or KUBECONFIG, are, until SIGTERM. It
 * serves `/healthz`, `/readyz` and `/metrics` on `--health-port` (8080), and elects a leader with `--leader-election`. With `--print-crds` it
 * prints the CRDs of its kinds, for its package, and ends.
 */
export async function runProvider(program: ProviderProgram): Promise<void> {
  // biome-ignore lint/style/noProcessEnv: the entry point of a program, where the environment is read.
  const { name, resources, env = process.env, argv = process.argv.slice(2), log = consoleLog } = program;
  const { values } = parseArgs({ args: [...argv], options, strict: true });
  if (values["print-crds"]) {
    process.stdout.write(`${printJson(resources.map(managedResourceCrd))}\n`);
    return;
  }
  const access = await accessOf(env, program.serviceAccountDirectory);
  await using closing = new AsyncDisposableStack();
  const client = createKubeClient(createHttpsTransport(access));
  closing.defer(() => client.close());
  const registry = new Registry();
  const { namespace = "default" } = access;
  // Process ids and host names are those of a sandbox or a Pod: two replicas can have the same.
  const election = values["leader-election"] ? { namespace, identity: `${hostname()}_${randomUUID()}` } : undefined;
  const provider = startProvider({ name, client, resources, registry, log, election });
  closing.defer(() => provider.stop());
  const server = await serveHealth({ provider, registry, port: Number(values["health-port"]) });
  closing.defer(() => new Promise<void>((resolve) => server.close(() => resolve())));
  await Promise.race([provider.ended, stopped(program.signal)]);
}

/** Where there is no sandbox, a provider finds its credentials by KUBECONFIG and not at the path of a Pod. */
async function accessOf(
  env: Readonly<Record<string, string | undefined>>,
  serviceAccountDirectory: string | undefined,
): Promise<ClusterAccess> {
  const file = env["KUBECONFIG"];
  if (file) {
    const config = load(await readFile(file, "utf8")) as Parameters<typeof accessFromKubeconfig>[0];
    return accessFromKubeconfig(config, { file, env });
  }
  const access = await inClusterAccess(env, serviceAccountDirectory);
  if (access !== undefined) return access;
  throw new Error("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: run the provider from its package");
}

/** One line of JSON for each message; debug messages are left out. */
const consoleLog: Log = {
  debug() {},
  info: (message, fields) => writeLine("info", message, fields),
  error: (message, fields) => writeLine("error", message, fields),
};

function writeLine(level: string, message: string, fields: object | undefined): void {
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`);
}

/** What the health endpoints report about. */
interface HealthOptions {
  readonly provider: Pick<RunningProvider, "isRunning">;
  readonly registry: Registry;
  /** 0 for any free port. */
  readonly port: number;
}

/** Serves `/healthz`, `/readyz` and `/metrics`. A replica that does not lead is healthy and ready. */
export async function serveHealth({ provider, registry, port }: HealthOptions): Promise<Server> {
  const server = createServer((request, response) => {
    const path = (request.url ?? "").split("?")[0];
    if (path === "/metrics") {
      const fail = (error: unknown): void => void response.writeHead(500).end(`${String(error)}\n`);
      registry.metrics().then((text) => response.setHeader("content-type", registry.contentType).end(text), fail);
    } else if (path === "/healthz" || path === "/readyz") {
      response.end(provider.isRunning ? "ok\n" : "waiting\n");
    } else response.writeHead(404).end("not found\n");
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, resolve);
  });
  return server;
}

function stopped(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => resolve());
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });
}
