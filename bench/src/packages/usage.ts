// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { descendants } from "../composition/usage.ts";
import { type Figure, figure, ratios } from "../measure/figure.ts";
import { processorTime, shareOfMemory } from "../measure/process-usage.ts";
import { startBare } from "./bare-process.ts";
import { callOnce, install, uninstall } from "./installed-function.ts";
import { type PackagePlane, requireSandbox, startPackagePlane } from "./plane.ts";
import { type BenchProgram, bundledProgram, goProgram } from "./programs.ts";

interface Usage {
  readonly memory: number;
  readonly processor: number;
}

/** What all processes of an active revision use without calls, compared with the same program alone. */
export async function usageFigures({ rounds, idleMs }: { rounds: number; idleMs: number }): Promise<Figure[]> {
  await using plane = await startPackagePlane(await requireSandbox());
  const figures: Figure[] = [];
  for (const program of [goProgram(), await bundledProgram()]) {
    const reference = await program.publish(plane);
    const all = { installed: [] as Usage[], bare: [] as Usage[] };
    for (let round = 0; round < rounds; round++) {
      all.installed.push(await installed(plane, reference, idleMs));
      all.bare.push(await bare(plane, program, idleMs));
    }
    const [memory, bareMemory] = [all.installed.map((one) => one.memory), all.bare.map((one) => one.memory)];
    figures.push(
      figure(`usage: ${program.title}, memory of an active revision`, "MiB", memory),
      figure(`usage: ${program.title}, memory of the bare process`, "MiB", bareMemory),
      figure(`usage: ${program.title}, memory, revision ÷ bare`, "×", ratios(memory, bareMemory)),
      figure(
        `usage: ${program.title}, idle processor time of a revision`,
        "ms/s",
        all.installed.map((one) => one.processor),
      ),
      figure(
        `usage: ${program.title}, idle processor time of the bare process`,
        "ms/s",
        all.bare.map((one) => one.processor),
      ),
    );
  }
  return figures;
}

async function installed(plane: PackagePlane, reference: string, idleMs: number): Promise<Usage> {
  const before = new Set(descendants(process.pid));
  const endpoint = await install(plane, "fn", reference);
  await callOnce(plane, endpoint, `usage-${performance.now()}`);
  const pids = descendants(process.pid).filter((pid) => !before.has(pid));
  const usage = await usageOf(pids, idleMs);
  await uninstall(plane, "fn");
  return usage;
}

async function bare(plane: PackagePlane, program: BenchProgram, idleMs: number): Promise<Usage> {
  await using running = await startBare(plane, program);
  await callOnce(plane, running.endpoint, `usage-${performance.now()}`);
  return await usageOf([running.pid], idleMs);
}

async function usageOf(pids: readonly number[], idleMs: number): Promise<Usage> {
  const used = (): number => pids.reduce((sum, pid) => sum + processorTime(pid), 0);
  const before = used();
  await delay(idleMs);
  const processor = ((used() - before) * 1000) / (idleMs / 1000);
  return { processor, memory: pids.reduce((sum, pid) => sum + shareOfMemory(pid), 0) };
}
