// SPDX-License-Identifier: Apache-2.0
import { type Figure, figure, ratios } from "../measure/figure.ts";
import { processorTime } from "../measure/process-usage.ts";
import { type Side, startSide } from "./both.ts";
import { startEmbedded } from "./contenders.ts";

export interface GrowthEffort {
  readonly few: number;
  readonly many: number;
  readonly rounds: number;
  /** Creates in a round. */
  readonly count: number;
}

/** What a create costs the embedded server with few and with many objects in it. */
export async function growthFigures({ few, many, rounds, count }: GrowthEffort): Promise<Figure[]> {
  await using side = await startSide(startEmbedded);
  const fill = (total: number, prefix: string): Promise<unknown> =>
    side.load.do({ job: "create", kind: "ConfigMap", prefix, count: total, clients: 16 });
  // Compilers and collectors settle first; what they do has nothing to do with the number of objects.
  await fill(few, "warm");
  const small = await measure(side, "few", { rounds, count });
  await fill(many - few - rounds * count, "fill");
  const large = await measure(side, "many", { rounds, count });
  const target = { relation: "at most", value: 1.15 } as const;
  return [
    figure(`growth: processor time of a create at ${few} objects`, "µs", small.costs),
    figure(`growth: processor time of a create at ${many} objects`, "µs", large.costs),
    figure(`growth: processor time, ${many} ÷ ${few} objects`, "×", ratios(large.costs, small.costs), target),
    figure(`growth: creates/s, ${few} ÷ ${many} objects`, "×", ratios(small.rates, large.rates)),
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
