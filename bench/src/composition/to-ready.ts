// SPDX-License-Identifier: Apache-2.0
import { type Figure, figure } from "../measure/figure.ts";
import { atMost, mark, scaled } from "./mark.ts";
import type { Plane } from "./planes.ts";
import type { Requester } from "./until-ready.ts";
import { memories, processorTimes, since, total } from "./usage.ts";

export interface ReadyEffort {
  /** How many at once in the large measurement; the mark is for 1,000. */
  readonly many: number;
  /** And in the small one; the mark is for 100. */
  readonly some: number;
  readonly rounds: number;
}

/** What the goals are on this machine. */
export interface Goals {
  readonly createsPerSecond: number;
  /** The share of the mark's time that is allowed. */
  readonly timeShare: number;
  /** Likewise of its processor time; none to leave it out. */
  readonly cpuShare?: number;
}

/** One composite resource alone, from its creation to Ready. */
export async function aloneFigures(
  title: string,
  requester: Requester,
  effort: ReadyEffort & Goals,
): Promise<Figure[]> {
  const times: number[] = [];
  for (let round = 0; round < effort.rounds * 3; round++) {
    times.push((await requester.untilReady(`alone-${round}`, 1)) * 1000);
  }
  const limit = scaled(mark.aloneMs, effort.createsPerSecond);
  return [
    figure(`${title}: one XR alone`, "ms", times),
    figure(
      `${title}: one XR alone ÷ scaled mark`,
      "×",
      times.map((time) => time / limit),
      atMost(1),
    ),
  ];
}

/** Some at once, several times. */
export async function someFigures(title: string, requester: Requester, effort: ReadyEffort & Goals): Promise<Figure[]> {
  const times: number[] = [];
  for (let round = 0; round < effort.rounds; round++) {
    times.push(await requester.untilReady(`some-${round}`, effort.some));
  }
  const limit = scaled((mark.hundredSeconds * effort.some) / 100, effort.createsPerSecond);
  const shares = times.map((time) => time / limit);
  return [
    figure(`${title}: ${effort.some} XRs`, "s", times),
    figure(`${title}: ${effort.some} XRs ÷ scaled mark`, "×", shares, atMost(effort.timeShare)),
  ];
}

/** Many at once: time, processor time of every process, and memory when all are Ready. */
export async function manyFigures(
  title: string,
  { plane, requester }: { readonly plane: Plane; readonly requester: Requester },
  effort: ReadyEffort & Goals,
): Promise<Figure[]> {
  const before = processorTimes(plane.processes);
  const seconds = await requester.untilReady("many", effort.many);
  const cpu = since(before, processorTimes(plane.processes));
  const name = `${title}: ${effort.many} XRs`;
  const portion = effort.many / 1000;
  const limit = scaled(mark.thousandSeconds * portion, effort.createsPerSecond);
  const cpuLimit = scaled(mark.thousandCpuSeconds * portion, effort.createsPerSecond);
  const cpuTarget = effort.cpuShare === undefined ? undefined : atMost(effort.cpuShare);
  return [
    figure(name, "s", [seconds]),
    figure(`${name} ÷ scaled mark`, "×", [seconds / limit], atMost(effort.timeShare)),
    ...Object.entries(cpu).map(([who, used]) => figure(`${name}, CPU of ${who}`, "s", [used])),
    figure(`${name}, CPU without etcd ÷ scaled mark`, "×", [total(cpu, "etcd") / cpuLimit], cpuTarget),
    ...Object.entries(memories(plane.processes)).map(([who, mib]) => figure(`${name}, memory of ${who}`, "MiB", [mib])),
  ];
}
