// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { encode, RunFunctionRequest } from "@purlin/function-protocol";
import { purlinFunction } from "../../../tools/peers/function-commands.ts";
import { startFunction } from "../../../tools/peers/function-process.ts";
import { type Figure, figure } from "../measure/figure.ts";
import { growth } from "../measure/growth.ts";
import { residentMemory } from "../measure/process-usage.ts";
import { createLoader } from "./loader.ts";
import { toRequest } from "./request.ts";
import { createWorkload } from "./workload.ts";

const samples = 100;
const functions = join(import.meta.dirname, "..", "..", "functions", "purlin");

/** The resident memory of a function that reads and writes, and of a runner, over many calls. */
export async function memoryFigures(calls: number): Promise<Figure[]> {
  return [
    ...seriesFigures("function", calls, await functionMemory(calls)),
    ...seriesFigures("runner", calls, await runnerMemory(calls)),
  ];
}

function seriesFigures(who: string, calls: number, series: readonly number[]): Figure[] {
  return [
    figure(`memory: of the ${who} over ${calls} calls`, "MiB", series),
    figure(`memory: of the ${who}, last quarter ÷ second quarter`, "×", [growth(series)], flat),
  ];
}

async function functionMemory(calls: number): Promise<number[]> {
  await using running = await startFunction(purlinFunction(join(functions, "busy.ts"), { insecure: true }));
  const requests = Array.from({ length: 64 }, (_, i) => encode(RunFunctionRequest, toRequest(createWorkload(i))));
  using loader = createLoader({ port: running.port, requests, inFlight: 8 });
  const series: number[] = [];
  for (let sample = 0; sample < samples; sample++) {
    await loader.call(calls / samples);
    series.push(residentMemory(running.pid));
  }
  return series;
}

async function runnerMemory(calls: number): Promise<number[]> {
  await using running = await startFunction(purlinFunction(join(functions, "noop.ts"), { insecure: true }));
  const file = join(import.meta.dirname, "runner-load.ts");
  const args = [file, String(running.port), String(calls), String(samples)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as number[];
}

/** The collector's own ups and downs stay below this; a leak of 1 KiB a call would add 50 MiB between the quarters. */
const flat = { relation: "at most", value: 1.1 } as const;
