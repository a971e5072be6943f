// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { descendants } from "../composition/usage.ts";
import { reconcileWith } from "../functions/reconciles.ts";
import type { Figure } from "../measure/figure.ts";
import { fineProcessorTime } from "../measure/process-usage.ts";
import { startBare } from "../packages/bare-process.ts";
import { callOnce, install } from "../packages/installed-function.ts";
import { requireSandbox, startPackagePlane } from "../packages/plane.ts";
import { bundledProgram } from "../packages/programs.ts";
import { callFor } from "./calls.ts";
import { type CallEffort, figuresOf, inTurns, type Measure } from "./cost.ts";

const source = join(import.meta.dirname, "../../functions/purlin/busy.ts");

/**
 * Calls a second of the same function as of the part `calls`, installed as a package: in its sandbox, behind the filter of system calls, in a
 * network of its own, held to its limits and supervised; and started by the benchmark with none of these. Both speak mutual TLS with the
 * same runner, which has its own limits both times. Processor time is that of the caller and of the function.
 */
export async function sandboxFigures({ rounds, sliceMs }: CallEffort): Promise<Figure[]> {
  await using plane = await startPackagePlane(await requireSandbox());
  const program = await bundledProgram(source);
  const reference = await program.publish(plane);
  const before = new Set(descendants(process.pid));
  const endpoint = await install(plane, "fn", reference);
  await callOnce(plane, endpoint, "warm-up");
  const pids = descendants(process.pid).filter((pid) => !before.has(pid));
  await using bare = await startBare(plane, program);
  const measure = (at: string, functionPids: readonly number[]): Measure => {
    const reconcile = reconcileWith(plane.runner, at);
    const used = (): number => [process.pid, ...functionPids].reduce((sum, pid) => sum + fineProcessorTime(pid), 0);
    return async () => {
      const start = used();
      const { calls, rate } = await callFor(reconcile, sliceMs);
      return [rate, (used() - start) / calls];
    };
  };
  return figuresOf(
    "sandbox: calls",
    "/s",
    await inTurns(rounds, measure(endpoint, pids), measure(bare.endpoint, [bare.pid])),
  );
}
