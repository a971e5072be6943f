// SPDX-License-Identifier: Apache-2.0
import { type Figure, figure, ratios } from "../measure/figure.ts";
import { withBoth } from "./both.ts";
import { type Kind, kinds } from "./objects.ts";

export interface ListEffort {
  readonly rounds: number;
  readonly objects: number;
}

const titles: Readonly<Record<Kind, string>> = { ConfigMap: "ConfigMaps", Widget: "custom objects" };

/** Milliseconds to the last byte of a list of everything. */
export async function listFigures({ rounds, objects }: ListEffort): Promise<Figure[]> {
  return await withBoth(async ({ ours, pair }) => {
    const figures: Figure[] = [];
    for (const kind of kinds) {
      const job = { job: "list", kind, leastBytes: objects * 500 } as const;
      const times = { ours: [] as number[], pair: [] as number[] };
      for (const { load } of [ours, pair]) {
        await load.do({ job: "create", kind, prefix: "l", count: objects, clients: 16 });
        await load.do(job);
      }
      for (let round = 0; round < rounds; round++) {
        times.ours.push(...(await ours.load.do(job)));
        times.pair.push(...(await pair.load.do(job)));
      }
      const what = `${objects} ${titles[kind]}`;
      const target = { relation: "at least", value: 1.5 } as const;
      figures.push(figure(`list: ${what}, embedded`, "ms", times.ours));
      figures.push(figure(`list: ${what}, kube-apiserver + etcd`, "ms", times.pair));
      figures.push(figure(`list: ${what}, pair ÷ embedded`, "×", ratios(times.pair, times.ours), target));
    }
    return figures;
  });
}
