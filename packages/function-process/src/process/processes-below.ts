// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs";

/** The processes that a process has started, and those they have, parents first. Linux only, as /proc is: elsewhere none are found. */
export function processesBelow(pid: number): readonly number[] {
  const children = Map.groupBy(allProcesses(), parentOf);
  const below = (parent: number): number[] => (children.get(parent) ?? []).flatMap((one) => [one, ...below(one)]);
  return below(pid);
}

function allProcesses(): readonly number[] {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // What comes before is its name, in parentheses, which may hold anything.
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
