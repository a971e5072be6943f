// SPDX-License-Identifier: Apache-2.0
import { type Figure, figure, medianOf, ratios } from "../measure/figure.ts";
import { startBare } from "./bare-process.ts";
import { callOnce, install } from "./installed-function.ts";
import { requireSandbox, startPackagePlane } from "./plane.ts";
import { goProgram } from "./programs.ts";

/** Of what is measured on a shared machine; more is slower. */
const tolerance = 1.05;

/** What a call costs through the process runtime, beside one to the same program over a connection of one's own. */
export async function callFigures({ rounds, calls }: { rounds: number; calls: number }): Promise<Figure[]> {
  await using plane = await startPackagePlane(await requireSandbox());
  const program = goProgram();
  const endpoints = { runtime: await install(plane, "fn", await program.publish(plane)), bare: "" };
  await using running = await startBare(plane, program);
  endpoints.bare = running.endpoint;
  const times = { runtime: [] as number[], bare: [] as number[] };
  const measure = async (which: "runtime" | "bare"): Promise<number> => {
    const each: number[] = [];
    for (let call = 0; call < calls; call++) {
      const started = performance.now();
      await callOnce(plane, endpoints[which], `calls-${which}`);
      each.push((performance.now() - started) * 1000);
    }
    return medianOf(each);
  };
  for (const which of ["runtime", "bare"] as const) await measure(which);
  for (let round = 0; round < rounds; round++) {
    for (const which of ["runtime", "bare"] as const) times[which].push(await measure(which));
  }
  const target = { relation: "at most", value: tolerance } as const;
  return [
    figure("calls: through the process runtime", "µs", times.runtime),
    figure("calls: over a bare connection", "µs", times.bare),
    figure("calls: runtime ÷ bare connection", "×", ratios(times.runtime, times.bare), target),
  ];
}
