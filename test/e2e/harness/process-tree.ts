// SPDX-License-Identifier: Apache-2.0
// What the kernel says about processes. Those in a sandbox are seen from outside, too.
import { readdirSync, readFileSync } from "node:fs";

/** A process, identified by its pid and start time. */
export interface SeenProcess {
  readonly pid: number;
  readonly parent: number;
  readonly started: string;
  readonly command: readonly string[];
}

/** Every process below another one. */
export function descendantsOf(pid: number): readonly SeenProcess[] {
  const all = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (look(Number(name)) ?? []) : []));
  const below = (parent: number): SeenProcess[] =>
    all.filter((one) => one.parent === parent).flatMap((one) => [one, ...below(one.pid)]);
  return below(pid);
}

/** Whether it is still that process. A zombie does not count. */
export function isRunning({ pid, started }: SeenProcess): boolean {
  return look(pid)?.started === started;
}

function look(pid: number): SeenProcess | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may hold anything.
    const [state, parent, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state === "Z" || state === "X") return undefined;
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return { pid, parent: Number(parent), started: rest[17] ?? "", command };
  } catch {
    return undefined;
  }
}
