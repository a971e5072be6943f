// SPDX-License-Identifier: Apache-2.0
import { type Figure, figure } from "../measure/figure.ts";
import { atMost, mark, scaled } from "./mark.ts";
import type { Plane } from "./planes.ts";
import type { Requester } from "./until-ready.ts";
import { memories, processorTimes, since, total, type Usage } from "./usage.ts";

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

/** What many at once are measured on. */
export interface ManyParts {
  readonly plane: Plane;
  readonly requester: Requester;
  /** Called before the last round, whose composite resources stay. */
  readonly beforeLast?: () => Promise<void>;
}

/** Many at once: time, processor time of every process, and memory when all are Ready; several rounds, each from rest. */
export async function manyFigures(title: string, parts: ManyParts, effort: ReadyEffort & Goals): Promise<Figure[]> {
  const rounds: ManyRound[] = [];
  for (let left = effort.rounds - 1; left >= 0; left--) {
    if (left === 0) await parts.beforeLast?.();
    rounds.push(await manyRound(parts, `many-${left}`, effort.many));
    if (left > 0) await parts.requester.remove(`many-${left}`, effort.many);
  }
  const name = `${title}: ${effort.many} XRs`;
  const portion = effort.many / 1000;
  const limit = scaled(mark.thousandSeconds * portion, effort.createsPerSecond);
  const cpuLimit = scaled(mark.thousandCpuSeconds * portion, effort.createsPerSecond);
  const cpuTarget = effort.cpuShare === undefined ? undefined : atMost(effort.cpuShare);
  const seconds = rounds.map((round) => round.seconds);
  const shares = rounds.map(({ cpu }) => total(cpu, "etcd") / cpuLimit);
  return [
    figure(name, "s", seconds),
    figure(
      `${name} ÷ scaled mark`,
      "×",
      seconds.map((time) => time / limit),
      atMost(effort.timeShare),
    ),
    ...byProcess(rounds, "cpu").map(([who, used]) => figure(`${name}, CPU of ${who}`, "s", used)),
    figure(`${name}, CPU without etcd ÷ scaled mark`, "×", shares, cpuTarget),
    ...byProcess(rounds, "memory").map(([who, mib]) => figure(`${name}, memory of ${who}`, "MiB", mib)),
  ];
}

interface ManyRound {
  readonly seconds: number;
  readonly cpu: Usage;
  readonly memory: Usage;
}

async function manyRound({ plane, requester }: ManyParts, prefix: string, count: number): Promise<ManyRound> {
  const before = processorTimes(plane.processes);
  const seconds = await requester.untilReady(prefix, count);
  return { seconds, cpu: since(before, processorTimes(plane.processes)), memory: memories(plane.processes) };
}

function byProcess(rounds: readonly ManyRound[], what: "cpu" | "memory"): [string, number[]][] {
  const names = Object.keys(rounds[0]?.[what] ?? {});
  return names.map((who) => [who, rounds.map((round) => round[what][who] ?? 0)]);
}
