// SPDX-License-Identifier: Apache-2.0
// What simulated Pods and schedules cost when nothing happens to them.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient } from "@purlin/kube-client";
import { conditionOf, conditionsOf, type KubeObject, numberAt } from "@purlin/kube-objects/object";
import { builtCommand } from "../../../tools/publish/built-command.ts";
import { readAccess } from "../apiserver/access.ts";
import { startCommand } from "../composition/child.ts";
import { userOf } from "../composition/setup.ts";
import { type Figure, figure } from "../measure/figure.ts";
import { processorTime, residentMemory } from "../measure/process-usage.ts";

/** How long something at rest is watched. */
export interface Watching {
  readonly rounds: number;
  /** How long a round watches what is at rest. */
  readonly seconds: number;
}

interface RestOptions extends Watching {
  readonly deployments: number;
  /** Pods of each Deployment. */
  readonly replicas: number;
}

interface ScheduleOptions extends Watching {
  readonly schedules: number;
}

const deploymentType = { apiVersion: "apps/v1", kind: "Deployment" };
const namespace = "default";

/** Processor time and writes of `purlin up` while simulated Pods are at rest, and the time until all of them were ready. */
export async function restFigures(options: RestOptions): Promise<Figure[]> {
  await using plane = await startPlane();
  const { users } = plane;
  const before = residentMemory(plane.pid);
  const startedAt = performance.now();
  await createDeployments(users, options);
  await untilAvailable(users, options);
  const seconds = (performance.now() - startedAt) / 1000;
  await untilStill(users);
  const pods = options.deployments * options.replicas;
  return [
    figure(`${pods} Pods: until all are ready`, "s", [seconds]),
    figure(`${pods} Pods: memory`, "MiB", [residentMemory(plane.pid) - before]),
    ...(await figuresAtRest(`${pods} Pods at rest`, plane, options)),
  ];
}

/** Processor time and writes of `purlin up` while CronOperations wait for their times. */
export async function scheduleFigures(options: ScheduleOptions): Promise<Figure[]> {
  await using plane = await startPlane("--enable-operations");
  const { users } = plane;
  const startedAt = performance.now();
  for (let index = 0; index < options.schedules; index++) await users.create(scheduleOf(index));
  const isActive = (one: KubeObject): boolean => conditionOf(conditionsOf(one), "Scheduling").status === "True";
  while (!(await users.list(cronType)).items.every(isActive)) await delay(200);
  const seconds = (performance.now() - startedAt) / 1000;
  await untilStill(users);
  return [
    figure(`${options.schedules} schedules: until all are active`, "s", [seconds]),
    ...(await figuresAtRest(`${options.schedules} schedules at rest`, plane, options)),
  ];
}

interface EmptyOptions {
  readonly rounds: number;
  /** How long a control plane runs alone before the next one starts. */
  readonly apartSeconds: number;
  /** How long a control plane may take to give back what its start left behind. */
  readonly settleSeconds: number;
}

/**
 * Memory of `purlin up` without objects before it had every built-in kind, RBAC, admission and the simulator: commit 0428e972, built as it
 * is published, on the same machine and the same Node, 45 seconds after its start. It may have grown by 15 MiB since.
 */
const memoryBefore = 114;
const mostGrowth = 15;

/**
 * The time from the start of `purlin up` on an empty folder to the answer to its first write, and its memory once it is idle. The control planes start one
 * after the other and become idle side by side: each of them needs a minute for it.
 */
export async function emptyFigures({ rounds, apartSeconds, settleSeconds }: EmptyOptions): Promise<Figure[]> {
  builtCommand();
  await using planes = new AsyncDisposableStack();
  const seconds: number[] = [];
  const memory: Promise<number>[] = [];
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now();
    // The API server answers before the controllers run: a client that follows the kubeconfig does not wait for them.
    const { pid, users } = planes.use(await startWhen((line) => line.includes("Starting the control plane")));
    await users.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "first", namespace } });
    seconds.push((performance.now() - startedAt) / 1000);
    memory.push(delay(settleSeconds * 1000).then(() => residentMemory(pid)));
    await delay(apartSeconds * 1000);
  }
  return [
    figure("empty: from the start to the first write", "s", seconds, { relation: "at most", value: 0.25 }),
    figure("empty: memory when idle", "MiB", await Promise.all(memory), {
      relation: "at most",
      value: memoryBefore + mostGrowth,
    }),
  ];
}

const cronType = { apiVersion: "ops.crossplane.io/v1alpha1", kind: "CronOperation" };

/** Schedules of months ahead, each at another time: none comes while it is measured. */
function scheduleOf(index: number): KubeObject {
  const month = ((new Date().getUTCMonth() + 3) % 12) + 1;
  const schedule = `${index % 60} ${index % 24} ${(index % 28) + 1} ${month} *`;
  const pipeline = [{ step: "run", functionRef: { name: "absent" } }];
  const operationTemplate = { spec: { mode: "Pipeline", pipeline } };
  return { ...cronType, metadata: { name: `schedule-${index}` }, spec: { schedule, operationTemplate } } as KubeObject;
}

/** A control plane whose process is measured. */
export interface MeasuredPlane extends AsyncDisposable {
  readonly pid: number;
  readonly users: KubeClient;
}

/** `purlin up` on an empty folder. */
export function startPlane(...flags: readonly string[]): Promise<MeasuredPlane> {
  return startWhen((line) => line.includes("The control plane is ready."), flags);
}

/** The same, as soon as it has printed a line and written its kubeconfig. */
async function startWhen(isAwaited: (line: string) => boolean, flags: readonly string[] = []): Promise<MeasuredPlane> {
  await using starting = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "bench-workloads-"));
  starting.defer(() => rmSync(directory, { recursive: true, force: true }));
  const { pid } = starting.use(await startCommand(["up", "--data-dir", directory, ...flags], isAwaited));
  const kubeconfig = join(directory, "kubeconfig");
  while (!existsSync(kubeconfig)) await delay(2);
  const users = starting.adopt(userOf(readAccess(kubeconfig)), (client) => client.close());
  const closing = starting.move();
  return { pid, users, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

/** The share of a core and the writes of a control plane at rest. */
export async function figuresAtRest(
  what: string,
  { pid, users }: MeasuredPlane,
  { rounds, seconds }: Watching,
): Promise<Figure[]> {
  const shares: number[] = [];
  const writes: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const [time, revision] = [processorTime(pid), await revisionOf(users)];
    await delay(seconds * 1000);
    shares.push(((processorTime(pid) - time) / seconds) * 100);
    writes.push((await revisionOf(users)) - revision);
  }
  return [
    figure(`${what}: share of a core`, "%", shares, { relation: "at most", value: 1 }),
    figure(`${what}: writes`, "", writes, { relation: "at most", value: 0 }),
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
export async function untilStill(users: KubeClient): Promise<void> {
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
