// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { type Figure, figure } from "../measure/figure.ts";
import { pair } from "./manifests.ts";
import { atMost } from "./mark.ts";
import type { Plane } from "./planes.ts";
import { removeTtl } from "./setup.ts";
import { processorTimes, since, total, type Usage } from "./usage.ts";
import { settledWrites, writeCounts } from "./write-counts.ts";
import { idleWrites } from "./writes.ts";

export interface IdleEffort {
  readonly idleMs: number;
  /** How long everything gets to come to rest before. */
  readonly settleMs: number;
}

const servers = ["API server", "etcd"];

/** What settled composite resources cost on a cluster: with a TTL of a minute, with none, and without a control plane. */
export async function idleFigures(plane: Plane, effort: IdleEffort): Promise<Figure[]> {
  const withTtl = await watchIdle(plane, effort);
  await removeTtl(plane.users);
  const without = await watchIdle(plane, effort);
  await plane.stopControlPlane();
  const { "control plane": _, ...left } = plane.processes;
  const atRest = await coresOver({ ...plane, processes: left }, effort);
  const server = withTtl.cores["API server"] ?? 0;
  const count = await countOf(plane);
  return [
    ...figuresOf("TTL 60 s", withTtl, { count, limit: 0.06 }),
    ...figuresOf("no TTL", without, { count, limit: 0.01 }),
    figure("cluster: at rest, cores of API server", "", [atRest["API server"] ?? 0]),
    figure("cluster: idle ÷ at rest, cores of API server", "×", [server / (atRest["API server"] ?? 0)], atMost(1.1)),
  ];
}

interface Idle {
  readonly cores: Usage;
  readonly writes: Usage;
}

async function watchIdle(plane: Plane, effort: IdleEffort): Promise<Idle> {
  await delay(effort.settleMs);
  const before = await settledWrites(plane.access);
  const cores = await coresOver(plane, { ...effort, settleMs: 0 });
  return { cores, writes: since(before, await writeCounts(plane.access)) };
}

async function coresOver({ processes }: Pick<Plane, "processes">, { idleMs, settleMs }: IdleEffort): Promise<Usage> {
  await delay(settleMs);
  const before = processorTimes(processes);
  const started = performance.now();
  await delay(idleMs);
  const seconds = (performance.now() - started) / 1000;
  const used = since(before, processorTimes(processes));
  return Object.fromEntries(Object.entries(used).map(([name, cpu]) => [name, cpu / seconds]));
}

/** How many composite resources there are. */
async function countOf({ users }: Plane): Promise<number> {
  return (await users.list(pair(""))).items.length;
}

/** The goals are for this many; there are more by then, and each takes its part. */
const goalCount = 1000;
const share = (count: number): number => Math.min(1, goalCount / count);

interface Goal {
  readonly count: number;
  readonly limit: number;
}

function figuresOf(what: string, { cores, writes }: Idle, { count, limit }: Goal): Figure[] {
  const { leases, others } = idleWrites(writes);
  const title = `cluster: idle, ${what}`;
  return [
    figure(`${title}, writes`, "", [others], atMost(0)),
    figure(`${title}, writes of the leader's Lease`, "", [leases]),
    ...Object.entries(cores).map(([who, used]) => figure(`${title}, cores of ${who}`, "", [used])),
    figure(
      `${title}, cores of both for ${goalCount} XRs`,
      "",
      [total(cores, ...servers) * share(count)],
      atMost(limit),
    ),
  ];
}

/** What settled composite resources cost in one process with their API server: with a TTL of a minute, and with none. */
export async function idleEmbedded(plane: Plane, effort: IdleEffort): Promise<Figure[]> {
  const withTtl = await embeddedFigures(plane, effort, { what: "TTL 60 s", limit: 0.06 });
  await removeTtl(plane.users);
  return [...withTtl, ...(await embeddedFigures(plane, effort, { what: "no TTL", limit: 0.01 }))];
}

async function embeddedFigures(
  plane: Plane,
  effort: IdleEffort,
  { what, limit }: { readonly what: string; readonly limit: number },
): Promise<Figure[]> {
  await delay(effort.settleMs);
  const before = await settledRevision(plane);
  const cores = await coresOver(plane, { ...effort, settleMs: 0 });
  const writes = (await revision(plane)) - before;
  return [
    figure(`embedded: idle, ${what}, writes`, "", [writes], atMost(0)),
    figure(
      `embedded: idle, ${what}, cores for ${goalCount} XRs`,
      "",
      [total(cores) * share(await countOf(plane))],
      atMost(limit),
    ),
  ];
}

const quietMs = 3_000;

/** The revision once nothing has changed for a while. */
export async function settledRevision(plane: Plane): Promise<number> {
  for (let before = await revision(plane); ; ) {
    await delay(quietMs);
    const now = await revision(plane);
    if (now === before) return now;
    before = now;
  }
}

/** Grows by one with each change of anything. */
async function revision({ users }: Plane): Promise<number> {
  const { resourceVersion } = await users.list({ apiVersion: "v1", kind: "Namespace" });
  return Number(resourceVersion);
}
