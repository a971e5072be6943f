// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs";

/** The processes that a process has started, and those they have. Linux only, as /proc is. */
export function processesBelow(pid: number): number[] {
  const all = readdirSync("/proc").map(Number).filter(Number.isInteger);
  const children = Map.groupBy(all, parentOf);
  const below = (parent: number): number[] => (children.get(parent) ?? []).flatMap((one) => [one, ...below(one)]);
  return below(pid);
}

/** The words a process was started with, each ended by a NUL. */
export function commandLineOf(pid: number): string {
  return readIfThere(`/proc/${pid}/cmdline`);
}

function parentOf(pid: number): number {
  const stat = readIfThere(`/proc/${pid}/stat`);
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

/** Processes end while they are looked at. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
