// SPDX-License-Identifier: Apache-2.0
import { type Figure, figure, medianOf } from "../measure/figure.ts";
import { settledRevision } from "./idle.ts";
import { atMost } from "./mark.ts";
import { type Plane, startEmbedded } from "./planes.ts";
import { removeTtl } from "./setup.ts";
import { type Requester, startRequester } from "./until-ready.ts";
import { processorTimes, since, total } from "./usage.ts";

export interface GrowthEffort {
  /** How many composite resources there are in the first measurement, and in the second. */
  readonly few: number;
  readonly many: number;
  /** How many are made in a round, and deleted again. */
  readonly count: number;
  readonly rounds: number;
  /** How many are made and deleted before anything is measured, while compilers are at work. */
  readonly warmUp: number;
}

/** What a composite resource costs beside few and beside many others, all processes of `purlin up` together. */
export async function growthFigures(effort: GrowthEffort): Promise<Figure[]> {
  const { few, many } = effort;
  await using plane = await startEmbedded();
  // Otherwise those that are there would run again in the meantime.
  await removeTtl(plane.users);
  await using requester = await startRequester(plane.access, plane.users);
  await requester.untilReady("warm", effort.warmUp);
  await requester.remove("warm", effort.warmUp);
  await requester.untilReady("few", few);
  const small = await costs(plane, requester, { prefix: "small", ...effort });
  await requester.untilReady("fill", many - few);
  const large = await costs(plane, requester, { prefix: "large", ...effort });
  const grown = (what: keyof Costs): number[] => large[what].map((value) => value / medianOf(small[what]));
  return [
    figure(`growth: CPU of an XR beside ${few}`, "ms", small.cpuMs),
    figure(`growth: CPU of an XR beside ${many}`, "ms", large.cpuMs),
    figure("growth: CPU of an XR, many ÷ few", "×", grown("cpuMs"), atMost(1.15)),
    figure(`growth: time of an XR beside ${few}`, "ms", small.ms),
    figure(`growth: time of an XR beside ${many}`, "ms", large.ms),
    figure("growth: time of an XR, many ÷ few", "×", grown("ms")),
  ];
}

interface Costs {
  readonly cpuMs: readonly number[];
  readonly ms: readonly number[];
}

/** Several rounds, each from rest and each with as many others as the one before. */
async function costs(
  plane: Plane,
  requester: Requester,
  { prefix, count, rounds }: Pick<GrowthEffort, "count" | "rounds"> & { readonly prefix: string },
): Promise<Costs> {
  const [cpuMs, ms]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    // Events of those before may still wait to be written, up to ten thousand of them.
    await settledRevision(plane);
    const before = processorTimes(plane.processes);
    const seconds = await requester.untilReady(`${prefix}-${round}`, count);
    cpuMs.push((total(since(before, processorTimes(plane.processes))) * 1000) / count);
    ms.push((seconds * 1000) / count);
    await requester.remove(`${prefix}-${round}`, count);
  }
  return { cpuMs, ms };
}
