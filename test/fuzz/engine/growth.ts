// SPDX-License-Identifier: Apache-2.0
// Finds parsers that take more than linear time for repeated structures.
import type { Target } from "./target.ts";

const enoughMs = 25;
const maxBytes = 2 * 1024 * 1024;
// Three times, and room for what garbage collection and other programs add; quadratic time is four times.
const maxRatio = 3.5;

async function cpuMs(target: Target, input: Buffer): Promise<number> {
  const started = process.threadCpuUsage();
  const running = target.run(input);
  if (running instanceof Promise) await running;
  const { user, system } = process.threadCpuUsage(started);
  return (user + system) / 1000;
}

/** The clock of CPU time has steps: what takes less than this is not measured. */
const leastMeasuredMs = 1;

/** The least of several measurements: garbage collection and other programs only ever add to one. */
async function leastMs(target: Target, make: () => Buffer, times: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let left = times; left > 0; left--) least = Math.min(least, await cpuMs(target, make()));
  return Math.max(leastMeasuredMs, least);
}

/** One line for each structure that takes more than about three times as long when it is twice as large. */
export async function superlinear(target: Target): Promise<string[]> {
  const problems: string[] = [];
  for (const [name, build] of Object.entries(target.growth ?? {})) {
    const make = (count: number): Buffer => Buffer.from(build(count));
    let count = 64;
    // Some structures stop to grow at a limit of the parser.
    const canDouble = (size: number): boolean => make(2 * size).length > 1.5 * make(size).length;
    while (canDouble(2 * count) && make(count).length * 4 < maxBytes) {
      if ((await cpuMs(target, make(count))) >= enoughMs) break;
      count *= 2;
    }
    const ratios = [];
    for (let attempt = 0; attempt < 3; attempt++) {
      const twice = await leastMs(target, () => make(2 * count), 3);
      const ratio = twice / (await leastMs(target, () => make(count), 3));
      ratios.push(ratio);
      if (ratio <= maxRatio) break;
    }
    const least = Math.min(...ratios);
    if (least > maxRatio) problems.push(`${name}: ${2 * count} take ${least.toFixed(1)} times as long as ${count}`);
  }
  return problems;
}
