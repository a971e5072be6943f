// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { encode, RunFunctionRequest } from "@purlin/function-protocol";
import { purlinFunction } from "../../../tools/peers/function-commands.ts";
import { startFunction } from "../../../tools/peers/function-process.ts";
import { type Figure, figure, medianOf } from "../measure/figure.ts";
import { residentMemory } from "../measure/resident-memory.ts";
import { createLoader } from "./loader.ts";
import { toRequest } from "./request.ts";
import { createWorkload } from "./workload.ts";

const samples = 100;

/** The resident memory of a function that reads and writes, over many calls. */
export async function memoryFigures(calls: number): Promise<Figure[]> {
  const file = join(import.meta.dirname, "..", "..", "functions", "purlin", "busy.ts");
  await using running = await startFunction(purlinFunction(file, { insecure: true }));
  const requests = Array.from({ length: 64 }, (_, i) => encode(RunFunctionRequest, toRequest(createWorkload(i))));
  using loader = createLoader({ port: running.port, requests, inFlight: 8 });
  const series: number[] = [];
  for (let sample = 0; sample < samples; sample++) {
    await loader.call(calls / samples);
    series.push(residentMemory(running.pid));
  }
  return [
    figure(`memory: of the function over ${calls} calls`, "MiB", series),
    figure("memory: of the function, last quarter ÷ second quarter", "×", [growth(series)], flat),
  ];
}

/** What the collector leaves lying about varies more than this; a leak of 1 KiB a call would show as 1.3 and more. */
const flat = { relation: "at most", value: 1.1 } as const;

/** The first quarter is left out: the collector takes its time to find the size that suits the load. */
export function growth(series: readonly number[]): number {
  const quarter = Math.floor(series.length / 4);
  return medianOf(series.slice(-quarter)) / medianOf(series.slice(quarter, 2 * quarter));
}
