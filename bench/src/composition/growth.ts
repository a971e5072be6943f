// SPDX-License-Identifier: Apache-2.0
import { type Figure, figure } from "../measure/figure.ts";
import { settledRevision } from "./idle.ts";
import { atMost } from "./mark.ts";
import { type Plane, startEmbedded } from "./planes.ts";
import { removeTtl } from "./setup.ts";
import { type Requester, startRequester } from "./until-ready.ts";
import { processorTimes, since, total } from "./usage.ts";

export interface GrowthEffort {
  readonly few: number;
  readonly many: number;
  /** Composite resources in a measurement. */
  readonly count: number;
}

/** What a composite resource costs with few and with many others, all processes of `purlin up` together. */
export async function growthFigures({ few, many, count }: GrowthEffort): Promise<Figure[]> {
  await using plane = await startEmbedded();
  // Otherwise those that are there would run again in the meantime.
  await removeTtl(plane.users);
  await using requester = await startRequester(plane.access, plane.users);
  // Compilers settle first; what they do has nothing to do with how many there are.
  await requester.untilReady("few", few);
  await requester.untilReady("warm", count);
  const small = await costs(plane, requester, { prefix: "small", count });
  await requester.untilReady("fill", many - few - 3 * count);
  const large = await costs(plane, requester, { prefix: "large", count });
  return [
    figure(`growth: CPU of an XR beside ${few + count}`, "ms", [small.cpuMs]),
    figure(`growth: CPU of an XR beside ${many - count}`, "ms", [large.cpuMs]),
    figure("growth: CPU of an XR, many ÷ few", "×", [large.cpuMs / small.cpuMs], atMost(1.15)),
    figure("growth: time of an XR, many ÷ few", "×", [large.ms / small.ms]),
  ];
}

async function costs(
  plane: Plane,
  requester: Requester,
  { prefix, count }: { readonly prefix: string; readonly count: number },
): Promise<{ readonly cpuMs: number; readonly ms: number }> {
  // Events of those before may still wait to be written, up to ten thousand of them.
  await settledRevision(plane);
  const { processes } = plane;
  const before = processorTimes(processes);
  const seconds = await requester.untilReady(prefix, count);
  const cpu = total(since(before, processorTimes(processes)));
  return { cpuMs: (cpu * 1000) / count, ms: (seconds * 1000) / count };
}
