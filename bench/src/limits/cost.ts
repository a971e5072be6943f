// SPDX-License-Identifier: Apache-2.0
// What limits and checks cost: the same program with and without them, in turns within one run.
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { purlinFunction } from "../../../tools/peers/function-commands.ts";
import { startFunction } from "../../../tools/peers/function-process.ts";
import { readAccess } from "../apiserver/access.ts";
import { startSide } from "../apiserver/both.ts";
import type { Contender } from "../apiserver/contenders.ts";
import { kinds } from "../apiserver/objects.ts";
import { type Figure, figure, ratios, type Target } from "../measure/figure.ts";
import { processorTime } from "../measure/process-usage.ts";
import { withoutLimits } from "./replacements.ts";

/** At most 3 % fewer. */
const target: Target = { relation: "at least", value: 0.97 };

/** How often something was done a second, and what one cost in processor seconds, round by round. */
export interface Measured {
  readonly rates: number[];
  readonly costs: number[];
}

export type Measure = (round: number) => Promise<readonly [rate: number, cost: number]>;

/** Measures both in each round, the other one first in every second round. The first round is for warming up. */
export async function inTurns(
  rounds: number,
  limited: Measure,
  unlimited: Measure,
): Promise<readonly [Measured, Measured]> {
  const sides = [limited, unlimited].map((measure) => ({ measure, measured: { rates: [], costs: [] } as Measured }));
  for (let round = 0; round <= rounds; round++) {
    for (const { measure, measured } of round % 2 === 0 ? sides : sides.toReversed()) {
      const [rate, cost] = await measure(round);
      if (round === 0) continue;
      measured.rates.push(rate);
      measured.costs.push(cost);
    }
  }
  const [first, second] = sides.map(({ measured }) => measured) as [Measured, Measured];
  return [first, second];
}

export function figuresOf(what: string, unit: string, [limited, unlimited]: readonly [Measured, Measured]): Figure[] {
  return [
    figure(`${what} with limits`, unit, limited.rates),
    figure(`${what} with limits ÷ without`, "×", ratios(limited.rates, unlimited.rates), target),
    figure(`${what} processor time with limits ÷ without`, "×", ratios(limited.costs, unlimited.costs)),
  ];
}

const command = join(import.meta.dirname, "../../../packages/cli/bin/purlin.js");

/** `purlin apiserver` from its sources: only those can be run without their limits. */
async function startServer(...nodeOptions: readonly string[]): Promise<Contender> {
  const directory = mkdtempSync(join(tmpdir(), "bench-limits-"));
  const child = spawn(process.execPath, [...nodeOptions, command, "apiserver", "--data-dir", directory], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const line = await Promise.race([once(createInterface({ input: child.stdout }), "line"), once(child, "exit")]);
  if (typeof line[0] !== "string") throw new Error(`purlin apiserver exited with ${String(line[0])}`);
  return {
    access: readAccess(join(directory, "kubeconfig")),
    pids: [child.pid ?? 0],
    async [Symbol.asyncDispose]() {
      const exit = once(child, "exit");
      child.kill("SIGTERM");
      await exit;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export interface CreateEffort {
  readonly rounds: number;
  readonly count: number;
}

/** Creates a second of 16 clients. */
export async function createFigures({ rounds, count }: CreateEffort): Promise<Figure[]> {
  await using limited = await startSide(() => startServer());
  await using unlimited = await startSide(() => startServer(withoutLimits));
  const figures: Figure[] = [];
  for (const kind of kinds) {
    const [first, second] = [limited, unlimited].map(
      ({ load, contender }): Measure =>
        async (round) => {
          const pid = contender.pids[0] ?? 0;
          const before = processorTime(pid);
          const [seconds = 0] = await load.do({ job: "create", kind, prefix: `r${round}`, count, clients: 16 });
          return [count / seconds, (processorTime(pid) - before) / count];
        },
    ) as [Measure, Measure];
    figures.push(...figuresOf(`creates: ${kind}s,`, "/s", await inTurns(rounds, first, second)));
  }
  return figures;
}

export interface CallEffort {
  readonly rounds: number;
  readonly sliceMs: number;
}

/** Calls a second of a function that reads 20 resources and writes 10, from a runner as in a control plane. */
export async function callFigures({ rounds, sliceMs }: CallEffort): Promise<Figure[]> {
  const file = join(import.meta.dirname, "../../functions/purlin/busy.ts");
  await using fn = await startFunction(purlinFunction(file, { insecure: true }));
  await using stack = new AsyncDisposableStack();
  const start = (...execArgv: readonly string[]): Measure => {
    const child = fork(join(import.meta.dirname, "caller.ts"), [String(fn.port)], { execArgv: [...execArgv] });
    stack.defer(() => void child.kill());
    const exited = once(child, "exit");
    return async () => {
      child.send(sliceMs);
      const [answer] = (await Promise.race([once(child, "message"), exited])) as [unknown];
      if (!Array.isArray(answer)) throw new Error(`the caller exited with ${String(answer)}`);
      return answer as [number, number];
    };
  };
  return figuresOf("calls:", "/s", await inTurns(rounds, start(), start(withoutLimits)));
}
