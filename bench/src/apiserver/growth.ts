// SPDX-License-Identifier: Apache-2.0
import { type Figure, figure, ratios } from "../measure/figure.ts";
import { processorTime } from "../measure/process-usage.ts";
import { type Side, startSide } from "./both.ts";
import { startEmbedded } from "./contenders.ts";

export interface GrowthEffort {
  readonly few: number;
  readonly some: number;
  readonly many: number;
  readonly rounds: number;
  /** Creates in a round. */
  readonly count: number;
}

/** What a create costs the embedded server with few, some and many objects in it. */
export async function growthFigures({ few, some, many, rounds, count }: GrowthEffort): Promise<Figure[]> {
  await using side = await startSide(startEmbedded);
  const fill = (total: number, prefix: string): Promise<unknown> =>
    side.load.do({ job: "create", kind: "ConfigMap", prefix, count: total, clients: 16 });
  // Compilers and collectors settle first; what they do has nothing to do with the number of objects.
  await fill(few, "warm");
  const small = await measure(side, "few", { rounds, count });
  await fill(some - few - rounds * count, "some");
  const medium = await measure(side, "medium", { rounds, count });
  await fill(many - some - rounds * count, "many");
  const large = await measure(side, "large", { rounds, count });
  const target = { relation: "at most", value: 1.15 } as const;
  // With few objects the compilers are still at work, so that alone would hide some growth.
  return [
    figure(`growth: processor time of a create at ${few} objects`, "µs", small.costs),
    figure(`growth: processor time of a create at ${some} objects`, "µs", medium.costs),
    figure(`growth: processor time of a create at ${many} objects`, "µs", large.costs),
    figure(`growth: processor time, ${many} ÷ ${few} objects`, "×", ratios(large.costs, small.costs), target),
    figure(`growth: processor time, ${many} ÷ ${some} objects`, "×", ratios(large.costs, medium.costs), target),
    figure(`growth: creates/s, ${some} ÷ ${many} objects`, "×", ratios(medium.rates, large.rates)),
  ];
}

interface Measured {
  readonly costs: number[];
  readonly rates: number[];
}

async function measure(
  { contender, load }: Side,
  prefix: string,
  { rounds, count }: { readonly rounds: number; readonly count: number },
): Promise<Measured> {
  const [pid = 0] = contender.pids;
  const measured: Measured = { costs: [], rates: [] };
  for (let round = 0; round < rounds; round++) {
    const before = processorTime(pid);
    const job = { job: "create", kind: "ConfigMap", prefix: `${prefix}-${round}`, count, clients: 16 } as const;
    const [seconds = 0] = await load.do(job);
    measured.costs.push(((processorTime(pid) - before) / count) * 1e6);
    measured.rates.push(count / seconds);
  }
  return measured;
}
