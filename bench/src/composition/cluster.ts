// SPDX-License-Identifier: Apache-2.0
import { type Figure, figure } from "../measure/figure.ts";
import { createsOfPair, createsPerSecond } from "./creates.ts";
import { type IdleEffort, idleEmbedded, idleFigures } from "./idle.ts";
import { startEmbedded, startOnCluster } from "./planes.ts";
import { aloneFigures, manyFigures, type ReadyEffort, someFigures } from "./to-ready.ts";
import { startRequester } from "./until-ready.ts";
import { since } from "./usage.ts";
import { settledWrites, writeCounts } from "./write-counts.ts";
import { writeFigures } from "./writes.ts";

/** How much of everything. */
export type CompositionEffort = ReadyEffort & IdleEffort & { readonly creates: number; readonly warmUp: number };

/** Composite resources to Ready on kube-apiserver and etcd, and what they cost once they are. */
export async function clusterFigures(effort: CompositionEffort): Promise<Figure[]> {
  await using plane = await startOnCluster();
  await using requester = await startRequester(plane.access, plane.users);
  await requester.untilReady("warm", effort.warmUp);
  const rate = await createsPerSecond(plane.access, effort.creates);
  const goals = { ...effort, createsPerSecond: rate, timeShare: 0.5, cpuShare: 0.5 };
  const alone = await aloneFigures("cluster", requester, goals);
  const some = await someFigures("cluster", requester, goals);
  let before = await writeCounts(plane.access);
  const beforeLast = async (): Promise<void> => {
    before = await settledWrites(plane.access);
  };
  const many = await manyFigures("cluster", { plane, requester, beforeLast }, goals);
  const writes = since(before, await settledWrites(plane.access));
  return [
    figure("cluster: ConfigMap creates of kube-apiserver", "/s", [rate]),
    ...many,
    ...some,
    ...alone,
    ...writeFigures(writes, effort.many),
    ...(await idleFigures(plane, effort)),
  ];
}

/** The same in one process, against the same mark. */
export async function embeddedFigures(effort: CompositionEffort): Promise<Figure[]> {
  const rate = await createsOfPair(effort.creates);
  await using plane = await startEmbedded();
  await using requester = await startRequester(plane.access, plane.users);
  await requester.untilReady("warm", effort.warmUp);
  const goals = { ...effort, createsPerSecond: rate, timeShare: 0.1 };
  const alone = await aloneFigures("embedded", requester, goals);
  const some = await someFigures("embedded", requester, goals);
  const many = await manyFigures("embedded", { plane, requester }, goals);
  return [...many, ...some, ...alone, ...(await idleEmbedded(plane, effort))];
}
