// SPDX-License-Identifier: Apache-2.0
import { type Figure, figure, ratios } from "../measure/figure.ts";
import { plainSandbox, startBare } from "./bare-process.ts";
import { callOnce, install, uninstall } from "./installed-function.ts";
import { type PackagePlane, requireSandbox, startPackagePlane } from "./plane.ts";
import { type BenchProgram, bundledProgram, goProgram } from "./programs.ts";

/** How long it takes from `install` to the first answer, beside starting the same program by hand. */
export async function installFigures(rounds: number): Promise<Figure[]> {
  await using plane = await startPackagePlane(await requireSandbox());
  const figures: Figure[] = [];
  for (const program of [goProgram(), await bundledProgram()]) {
    const reference = await program.publish(plane);
    // What is measured are packages that are there already.
    await installed(plane, reference);
    await bare(plane, program);
    const times = { installed: [] as number[], bare: [] as number[], sandboxed: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      times.installed.push(await installed(plane, reference));
      times.bare.push(await bare(plane, program));
      times.sandboxed.push(await bare(plane, program, plainSandbox));
    }
    figures.push(
      figure(`install: ${program.title}, to the first answer`, "ms", times.installed),
      figure(`install: ${program.title}, bare process to the first answer`, "ms", times.bare),
      figure(`install: ${program.title}, installed ÷ bare`, "×", ratios(times.installed, times.bare), {
        relation: "at most",
        value: 2,
      }),
      figure(`install: ${program.title}, bare process under bubblewrap`, "ms", times.sandboxed),
      figure(`install: ${program.title}, installed ÷ under bubblewrap`, "×", ratios(times.installed, times.sandboxed)),
    );
  }
  return figures;
}

async function installed(plane: PackagePlane, reference: string): Promise<number> {
  const started = performance.now();
  const endpoint = await install(plane, "fn", reference);
  await callOnce(plane, endpoint, `installed-${started}`);
  const took = performance.now() - started;
  await uninstall(plane, "fn");
  return took;
}

async function bare(plane: PackagePlane, program: BenchProgram, around: readonly string[] = []): Promise<number> {
  const started = performance.now();
  await using running = await startBare(plane, program, around);
  await callOnce(plane, running.endpoint, `bare-${started}`);
  return performance.now() - started;
}
