// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { type Figure, figure, ratios } from "../measure/figure.ts";
import { type Side, startSide } from "./both.ts";
import { memoryOf, startEmbedded, startPair } from "./contenders.ts";

export interface MemoryEffort {
  readonly rounds: number;
  readonly objects: number;
  /** The time that collectors get to free the memory of the writes. */
  readonly restMs: number;
}

/** Resident memory of all processes of a contender after this many objects were written to it. */
export async function memoryFigures(effort: MemoryEffort): Promise<Figure[]> {
  const ours: number[] = [];
  const pair: number[] = [];
  for (let round = 0; round < effort.rounds; round++) {
    await using embedded = await startSide(startEmbedded);
    ours.push(await memoryAfter(embedded, effort));
    await using real = await startSide(startPair);
    pair.push(await memoryAfter(real, effort));
  }
  const what = `with ${effort.objects} objects`;
  return [
    figure(`memory: embedded, ${what}`, "MiB", ours),
    figure(`memory: kube-apiserver + etcd, ${what}`, "MiB", pair),
    figure("memory: embedded ÷ pair", "×", ratios(ours, pair), { relation: "at most", value: 0.5 }),
  ];
}

async function memoryAfter({ contender, load }: Side, { objects, restMs }: MemoryEffort): Promise<number> {
  await load.do({ job: "create", kind: "ConfigMap", prefix: "m", count: objects, clients: 16 });
  await delay(restMs);
  return memoryOf(contender);
}
