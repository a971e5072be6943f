// SPDX-License-Identifier: Apache-2.0
// A whole control plane in a process of its own (`purlin up`), with one kind of composite resource and one function.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
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
import { holdLog } from "../harness/hold-log.ts";
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

/** Starts a control plane with its data in a directory. `options` go to `purlin up`. */
export async function startAttackedPlane(
  directory: string,
  address: string,
  ...options: readonly string[]
): Promise<AttackedPlane> {
  const [folder, data] = [join(directory, "objects"), join(directory, "data")];
  mkdirSync(folder);
  writeFileSync(
    join(folder, "platform.yaml"),
    manifests(address)
      .map((object) => dump(object))
      .join("---\n"),
  );
  const holds = holdLog(directory);
  const child = spawn(process.execPath, [...holds.nodeOptions, command, "up", folder, "--data-dir", data, ...options], {
    env: { ...process.env, ...holds.env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
    cwd: directory,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  await until(
    "the control plane is ready",
    () => /control plane is ready|Everything is ready/i.test(output) || child.exitCode !== null,
    () => output,
  );
  const kubeconfig = load(readFileSync(join(data, "kubeconfig"), "utf8")) as Kubeconfig;
  const access = await accessFromKubeconfig(kubeconfig, { file: join(data, "kubeconfig"), env: process.env });
  const users = createKubeClient(createHttpsTransport(access));
  const decoded = (text: string | undefined): string => Buffer.from(text ?? "", "base64").toString();
  const [cluster, user] = [kubeconfig.clusters?.[0]?.cluster, kubeconfig.users?.[0]?.user];
  const target = {
    server: cluster?.server ?? "",
    caPem: decoded(cluster?.["certificate-authority-data"]),
    certPem: decoded(user?.["client-certificate-data"]),
    keyPem: decoded(user?.["client-key-data"]),
  };
  await until(
    "the kind is served",
    () =>
      users.list(xrType).then(
        () => true,
        () => false,
      ),
    () => output,
  );
  const watched = await watchResponsiveness({ target }, holds);
  return {
    users,
    watched,
    output: () => output,
    attack: (name) => attack(users, name),
    peakMemory: () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0) / 1024,
    async purlin(...args) {
      const other = spawn(process.execPath, [command, ...args, "--data-dir", data], {
        stdio: ["ignore", "pipe", "pipe"],
      });
      let text = "";
      for (const stream of [other.stdout, other.stderr])
        stream.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
      await once(other, "exit");
      return text;
    },
    async [Symbol.asyncDispose]() {
      await watched[Symbol.asyncDispose]();
      await users.close();
      const exit = once(child, "exit");
      child.kill("SIGTERM");
      await exit;
    },
  };
}

async function attack(users: KubeClient, name: string): Promise<Condition> {
  await users.create({ ...xrType, metadata: { name }, spec: { case: name } });
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
