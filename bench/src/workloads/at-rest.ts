// SPDX-License-Identifier: Apache-2.0
// What simulated Pods cost when nothing happens to them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient } from "@purlin/kube-client";
import { numberAt } from "@purlin/kube-objects/object";
import { readAccess } from "../apiserver/access.ts";
import { startCommand } from "../composition/child.ts";
import { userOf } from "../composition/setup.ts";
import { type Figure, figure } from "../measure/figure.ts";
import { processorTime, residentMemory } from "../measure/process-usage.ts";

interface RestOptions {
  readonly deployments: number;
  /** Pods of each Deployment. */
  readonly replicas: number;
  readonly rounds: number;
  /** How long a round watches the Pods. */
  readonly seconds: number;
}

const deploymentType = { apiVersion: "apps/v1", kind: "Deployment" };
const namespace = "default";

/** Processor time and writes of `purlin up` while simulated Pods are at rest, and the time until all of them were ready. */
export async function restFigures(options: RestOptions): Promise<Figure[]> {
  await using starting = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "bench-workloads-"));
  starting.defer(() => rmSync(directory, { recursive: true, force: true }));
  const isReady = (line: string): boolean => line.includes("The control plane is ready.");
  const plane = starting.use(await startCommand(["up", "--data-dir", directory], isReady));
  const users = starting.adopt(userOf(readAccess(join(directory, "kubeconfig"))), (client) => client.close());
  const before = residentMemory(plane.pid);
  const startedAt = performance.now();
  await createDeployments(users, options);
  await untilAvailable(users, options);
  const seconds = (performance.now() - startedAt) / 1000;
  await untilStill(users);
  const shares: number[] = [];
  const writes: number[] = [];
  for (let round = 0; round < options.rounds; round++) {
    const [time, revision] = [processorTime(plane.pid), await revisionOf(users)];
    await delay(options.seconds * 1000);
    shares.push(((processorTime(plane.pid) - time) / options.seconds) * 100);
    writes.push((await revisionOf(users)) - revision);
  }
  const pods = options.deployments * options.replicas;
  return [
    figure(`${pods} Pods: until all are ready`, "s", [seconds]),
    figure(`${pods} Pods: memory`, "MiB", [residentMemory(plane.pid) - before]),
    figure(`${pods} Pods at rest: share of a core`, "%", shares, { relation: "at most", value: 1 }),
    figure(`${pods} Pods at rest: writes`, "", writes, { relation: "at most", value: 0 }),
  ];
}

async function createDeployments(users: KubeClient, { deployments, replicas }: RestOptions): Promise<void> {
  for (let index = 0; index < deployments; index++) {
    const labels = { app: `web-${index}` };
    const spec = { containers: [{ name: "main", image: "registry.example.org/web:1" }] };
    await users.create({
      ...deploymentType,
      metadata: { name: `web-${index}`, namespace },
      spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    });
  }
}

async function untilAvailable(users: KubeClient, { deployments, replicas }: RestOptions): Promise<void> {
  for (;;) {
    const { items } = await users.list(deploymentType, { namespace });
    const ready = items.filter((one) => numberAt(one, ["status", "availableReplicas"]) === replicas).length;
    if (ready === deployments) return;
    await delay(500);
  }
}

/** Waits until nothing was written for a while. */
async function untilStill(users: KubeClient): Promise<void> {
  for (let before = await revisionOf(users); ; ) {
    await delay(5000);
    const now = await revisionOf(users);
    if (now === before) return;
    before = now;
  }
}

async function revisionOf(users: KubeClient): Promise<number> {
  const { resourceVersion } = await users.list({ apiVersion: "v1", kind: "Namespace" });
  return Number(resourceVersion);
}
