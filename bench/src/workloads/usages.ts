// SPDX-License-Identifier: Apache-2.0
// What Usages cost: deletions of objects that nothing uses, and Usages at rest.
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient } from "@purlin/kube-client";
import { conditionOf, conditionsOf, type KubeObject } from "@purlin/kube-objects/object";
import { confidenceOfRatio, type Figure, figure } from "../measure/figure.ts";
import { fineProcessorTime } from "../measure/process-usage.ts";
import { figuresAtRest, type MeasuredPlane, startPlane, untilStill, type Watching } from "./at-rest.ts";

interface UsageOptions extends Watching {
  readonly usages: number;
  /** Objects that are deleted in a slice, on each side. */
  readonly deletions: number;
  /** How many slices of deletions are measured. */
  readonly slices: number;
}

const configMapType = { apiVersion: "v1", kind: "ConfigMap" };
const usageType = { apiVersion: "protection.crossplane.io/v1beta1", kind: "Usage" };
const namespace = "default";
const clients = 16;

/** Processor time and writes while Usages are at rest, and deletions a second beside them, compared with a server without Usages. */
export async function usageFigures(options: UsageOptions): Promise<Figure[]> {
  await using guarded = await startPlane();
  const startedAt = performance.now();
  await createUsages(guarded.users, options.usages);
  const seconds = (performance.now() - startedAt) / 1000;
  await untilStill(guarded.users);
  const atRest = await figuresAtRest(`${options.usages} Usages at rest`, guarded, options);
  await using plain = await startPlane("--enable-usages=false");
  // Both hold the same objects, and have served as many requests for them.
  await createConfigMaps(plain.users, options.usages);
  const what = "Deletions of unused objects";
  const figures = [figure(`${options.usages} Usages: until all are ready`, "s", [seconds]), ...atRest];
  for (const kind of ["ConfigMap", "ServiceAccount"]) {
    const { rates, times } = await deletionCosts({ guarded, plain }, kind, options);
    const title = `${what} (${kind})`;
    figures.push(
      figure(`${title} beside ${options.usages} Usages of ConfigMaps`, "/s", rates.guarded),
      figure(`${title}, --enable-usages=false`, "/s", rates.plain),
      figure(`${title}: processor time of one`, "µs", perDeletion(times.guarded, options)),
      figure(`${title}: processor time of one, --enable-usages=false`, "µs", perDeletion(times.plain, options)),
      figure(
        `${title}: processor time with Usages ÷ without, 95 % confidence`,
        "×",
        confidenceOfRatio(times.guarded, times.plain),
        { relation: "at most", value: 1.05 },
      ),
    );
  }
  return figures;
}

const usedName = (index: number): string => `used-${index}`;

async function createConfigMaps(users: KubeClient, count: number): Promise<void> {
  await eachOf(count, (index) => users.create({ ...configMapType, metadata: { name: usedName(index), namespace } }));
}

async function createUsages(users: KubeClient, count: number): Promise<void> {
  await createConfigMaps(users, count);
  await eachOf(count, async (index) => {
    const name = usedName(index);
    const of = { ...configMapType, resourceRef: { name } };
    await users.create({ ...usageType, metadata: { name, namespace }, spec: { of, reason: "measured" } });
  });
  const isReady = (one: KubeObject): boolean => conditionOf(conditionsOf(one), "Ready").status === "True";
  while (!(await users.list(usageType)).items.every(isReady)) await delay(200);
}

const perDeletion = (times: readonly number[], { deletions }: UsageOptions): number[] =>
  times.map((time) => (time / deletions) * 1e6);

type Sides<T> = Record<"guarded" | "plain", T>;

interface Costs {
  /** Deletions a second. */
  readonly rates: Sides<number[]>;
  /** Seconds of processor time of the server for all deletions of a slice. */
  readonly times: Sides<number[]>;
}

const warmUps = 4;

/** Both sides take turns, so that what else the machine does falls on both. The first slices warm up. */
async function deletionCosts(
  planes: Readonly<Sides<MeasuredPlane>>,
  kind: string,
  { slices, deletions }: UsageOptions,
): Promise<Costs> {
  const costs: Costs = { rates: { guarded: [], plain: [] }, times: { guarded: [], plain: [] } };
  for (let slice = -warmUps; slice < slices; slice += 1) {
    for (const side of slice % 2 === 0 ? (["guarded", "plain"] as const) : (["plain", "guarded"] as const)) {
      const { rate, time } = await deletionCost(planes[side], kind, deletions);
      if (slice < 0) continue;
      costs.rates[side].push(rate);
      costs.times[side].push(time);
    }
  }
  return costs;
}

async function deletionCost(
  { users, pid }: MeasuredPlane,
  kind: string,
  count: number,
): Promise<{ readonly rate: number; readonly time: number }> {
  const type = { apiVersion: "v1", kind };
  const name = (index: number): string => `free-${index}`;
  await eachOf(count, (index) => users.create({ ...type, metadata: { name: name(index), namespace } }));
  const [startedAt, time] = [performance.now(), fineProcessorTime(pid)];
  await eachOf(count, (index) => users.delete({ ...type, namespace, name: name(index) }));
  const rate = count / ((performance.now() - startedAt) / 1000);
  return { rate, time: fineProcessorTime(pid) - time };
}

async function eachOf(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: clients }, worker));
}
