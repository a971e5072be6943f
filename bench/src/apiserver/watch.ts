// SPDX-License-Identifier: Apache-2.0
import { type Figure, figure, ratios, type Target } from "../measure/figure.ts";
import { withBoth } from "./both.ts";
import { percentile } from "./percentile.ts";

export interface WatchEffort {
  readonly rounds: number;
  /** Writes in a round. */
  readonly count: number;
}

const perSecond = 100;

/** From sending a write to seeing it in a watch, at a hundred writes a second. */
export async function watchFigures({ rounds, count }: WatchEffort): Promise<Figure[]> {
  return await withBoth(async ({ ours, pair }) => {
    const measured = { ours: [] as (readonly number[])[], pair: [] as (readonly number[])[] };
    for (let round = -1; round < rounds; round++) {
      for (const [name, { load }] of Object.entries({ ours, pair })) {
        const job = { job: "watch", kind: "ConfigMap", prefix: `w${round + 1}`, perSecond, count } as const;
        const times = await load.do(job);
        if (round >= 0) measured[name as keyof typeof measured].push(times);
      }
    }
    const together = { ours: [measured.ours.flat()], pair: [measured.pair.flat()] };
    return [
      ...compare("p50", 0.5, measured, { relation: "at most", value: 0.667 }),
      ...compare("p99 by round", 0.99, measured),
      // The few slowest of a round are chance; those of all rounds together are what a user meets.
      ...compare(`p99 of ${rounds * count}`, 0.99, together, { relation: "at most", value: 1 }),
    ];
  });
}

function compare(
  title: string,
  part: number,
  { ours, pair }: Record<"ours" | "pair", readonly (readonly number[])[]>,
  target?: Target,
): Figure[] {
  const own = ours.map((times) => percentile(times, part));
  const other = pair.map((times) => percentile(times, part));
  return [
    figure(`watch: write to event, ${title}, embedded`, "ms", own),
    figure(`watch: write to event, ${title}, kube-apiserver + etcd`, "ms", other),
    figure(`watch: write to event, ${title}, embedded ÷ pair`, "×", ratios(own, other), target),
  ];
}
