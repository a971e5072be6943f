// SPDX-License-Identifier: Apache-2.0
// A whole control plane in a process of its own (`purlin up`, or `purlin start` on a real API server), with one kind of composite resource
// and one function.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  accessFromKubeconfig,
  createHttpsTransport,
  createKubeClient,
  type KubeClient,
  type Kubeconfig,
} from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { dump, load } from "js-yaml";
import { startRealCluster } from "../../../tools/peers/real-cluster.ts";
import type { Target } from "../../conformance/harness/wire.ts";
import { userView } from "../../e2e/harness/plane.ts";
import { type HoldLog, holdLog } from "../harness/hold-log.ts";
import type { PingOptions } from "../harness/ping.ts";
import { type Watched, watchResponsiveness } from "../harness/responsive.ts";

const command = join(import.meta.dirname, "../../../packages/cli/bin/purlin.js");
/** Longer than anything here takes on a machine with much to do. */
const patienceMs = 300_000;

export const xrType = { apiVersion: "test.example.org/v1", kind: "Attack" } as const;

/** A condition of a composite resource. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message?: string;
}

/** A control plane whose only function is hostile. */
export interface AttackedPlane extends AsyncDisposable {
  readonly users: KubeClient;
  readonly watched: Watched;
  /** Everything the process has printed. */
  output(): string;
  /** Makes a composite resource, and resolves to its Synced condition once functions have run for it. */
  attack(name: string): Promise<Condition>;
  /** Resident memory of the process in MiB, at most so far. */
  peakMemory(): number;
  /** Runs another command against it. */
  purlin(...args: readonly string[]): Promise<string>;
}

/** Starts `purlin up` with its data in a directory, and a function at an address. `options` go to the command. */
export async function startAttackedPlane(
  directory: string,
  address: string,
  ...options: readonly string[]
): Promise<AttackedPlane> {
  const [folder, data] = [join(directory, "objects"), join(directory, "data")];
  mkdirSync(folder);
  const platform = manifests(address).map((object) => dump(object));
  writeFileSync(join(folder, "platform.yaml"), platform.join("---\n"));
  const run = runCommand(directory, ["up", folder, "--data-dir", data, ...options]);
  await run.says(/control plane is ready|Everything is ready/i);
  const kubeconfig = join(data, "kubeconfig");
  const target = targetOf(load(readFileSync(kubeconfig, "utf8")) as Kubeconfig);
  return watchPlane(run, { kubeconfig, ping: { target }, stop: async () => {} });
}

/** Starts `purlin start` on a real API server, and a function at an address. `options` go to the command. */
export async function startAttackedCluster(
  directory: string,
  address: string,
  ...options: readonly string[]
): Promise<AttackedPlane> {
  const cluster = await startRealCluster({ controllers });
  try {
    const kubeconfig = join(directory, "kubeconfig");
    copyFileSync(cluster.kubeconfig, kubeconfig);
    const places = ["--kubeconfig", kubeconfig, "--xpkg-cache-dir", join(directory, "xpkg")];
    const addresses = ["--metrics-address", "0", "--health-address", "127.0.0.1:0"];
    const args = ["start", ...places, ...addresses, "--allow-development-functions", ...options];
    const run = runCommand(directory, args);
    await run.says(/"message":"serving"|"msg":"serving"|serving/);
    const server = `http://${/"health":"([^"]+)"/.exec(run.output())?.[1] ?? ""}`;
    const target = { server, caPem: "", certPem: "", keyPem: "" };
    const plane = { kubeconfig, ping: { target, path: "/healthz" }, stop: () => cluster.stop() };
    return await watchPlane(run, plane, manifests(address));
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** The loops that the embedded server has of its own. */
const controllers = ["garbage-collector-controller", "namespace-controller"];

interface CommandRun {
  readonly child: ChildProcess;
  readonly holds: HoldLog;
  output(): string;
  says(pattern: RegExp): Promise<void>;
}

/** Largest heap, in MiB. With the limit, how much garbage V8 leaves does not depend on the machine. */
const heapMebibytes = 1024;

/** Runs the command with a meter of its event loop. */
function runCommand(directory: string, args: readonly string[]): CommandRun {
  const holds = holdLog(directory);
  const child = spawn(
    process.execPath,
    [...holds.nodeOptions, `--max-old-space-size=${heapMebibytes}`, command, ...args],
    {
      env: { ...process.env, ...holds.env, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
      cwd: directory,
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  return {
    child,
    holds,
    output: () => output,
    says: (pattern) =>
      until(
        `purlin ${args[0]} says ${pattern}`,
        () => {
          if (child.exitCode !== null) throw new Error(`purlin ${args[0]} exited with ${child.exitCode}: ${output}`);
          return pattern.test(output);
        },
        () => output,
      ),
  };
}

interface PlaneOptions {
  readonly kubeconfig: string;
  readonly ping: PingOptions;
  /** Called after the control plane has ended. */
  readonly stop: () => Promise<void>;
}

/** Pings a control plane that runs, after objects were applied to it. */
async function watchPlane(
  run: CommandRun,
  { kubeconfig, ping, stop }: PlaneOptions,
  objects: readonly KubeObject[] = [],
): Promise<AttackedPlane> {
  const { child, holds, output } = run;
  const config = load(readFileSync(kubeconfig, "utf8")) as Kubeconfig;
  const access = await accessFromKubeconfig(config, { file: kubeconfig, env: process.env });
  const users = createKubeClient(createHttpsTransport(access));
  const isServed = (): Promise<boolean> =>
    users.list(xrType).then(
      () => true,
      () => false,
    );
  await userView(users).apply(...objects);
  await until("the kind is served", isServed, output);
  const watched = await watchResponsiveness(ping, holds);
  return {
    users,
    watched,
    output,
    attack: (name) => attack(users, name),
    peakMemory: () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0) / 1024,
    purlin: (...args) => outputOf([...args, "--kubeconfig", kubeconfig]),
    async [Symbol.asyncDispose]() {
      await watched[Symbol.asyncDispose]();
      await users.close();
      const exit = once(child, "exit");
      child.kill("SIGTERM");
      await exit;
      await stop();
    },
  };
}

function targetOf({ clusters, users }: Kubeconfig): Target {
  const decoded = (text: string | undefined): string => Buffer.from(text ?? "", "base64").toString();
  const [cluster, user] = [clusters?.[0]?.cluster, users?.[0]?.user];
  return {
    server: cluster?.server ?? "",
    caPem: decoded(cluster?.["certificate-authority-data"]),
    certPem: decoded(user?.["client-certificate-data"]),
    keyPem: decoded(user?.["client-key-data"]),
  };
}

/** Everything that a command prints. */
async function outputOf(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [command, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
  await once(child, "exit");
  return text;
}

async function attack(users: KubeClient, name: string): Promise<Condition> {
  // Attacks may have added other Compositions of the kind.
  const crossplane = { compositionRef: { name: "attacks" } };
  await users.create({ ...xrType, metadata: { name }, spec: { case: name, crossplane } });
  let last: KubeObject | undefined;
  await until(
    `${name} is reconciled`,
    async () => {
      last = await users.get(xrType, { name });
      const { status = "Unknown", reason = "" } = syncedOf(last) ?? {};
      return status !== "Unknown" && reason !== "WaitingForFunction";
    },
    () => JSON.stringify(last),
  );
  return syncedOf(last) ?? { type: "Synced", status: "Unknown", reason: "" };
}

export function syncedOf(object: KubeObject | undefined): Condition | undefined {
  const { conditions = [] } = (object?.["status"] ?? {}) as { conditions?: readonly Condition[] };
  return conditions.find(({ type }) => type === "Synced");
}

/** Waits for something; what there is otherwise goes into the failure. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  otherwise: () => string,
): Promise<void> {
  const end = Date.now() + patienceMs;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`${what}: not within ${patienceMs} ms: ${otherwise().slice(-2_000)}`);
    await delay(50);
  }
}

export function manifests(address: string): readonly KubeObject[] {
  const free = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const openAPIV3Schema = {
    type: "object",
    properties: { spec: free, status: { type: "object", properties: { any: free } } },
  };
  return [
    {
      apiVersion: "apiextensions.crossplane.io/v2",
      kind: "CompositeResourceDefinition",
      metadata: { name: "attacks.test.example.org" },
      spec: {
        group: "test.example.org",
        scope: "Cluster",
        names: { kind: "Attack", plural: "attacks" },
        versions: [{ name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema } }],
      },
    },
    {
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "Composition",
      metadata: { name: "attacks" },
      spec: {
        compositeTypeRef: xrType,
        mode: "Pipeline",
        pipeline: [{ step: "hostile", functionRef: { name: "fn" } }],
      },
    },
    {
      apiVersion: "pkg.crossplane.io/v1",
      kind: "Function",
      metadata: {
        name: "fn",
        annotations: {
          "render.crossplane.io/runtime": "Development",
          "render.crossplane.io/runtime-development-target": address,
        },
      },
      spec: { package: "example.org/fn:v1" },
    },
  ];
}
