// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs";
import { processorTime, residentMemory } from "../measure/process-usage.ts";

/** Processes by what they are to the reader. */
export type Processes = Readonly<Record<string, readonly number[]>>;

/** A number for each kind of process. */
export type Usage = Readonly<Record<string, number>>;

const sumOver = (processes: Processes, measure: (pid: number) => number): Usage =>
  Object.fromEntries(
    Object.entries(processes).map(([name, pids]) => [name, pids.reduce((sum, pid) => sum + measure(pid), 0)]),
  );

/** Processor seconds used so far. */
export const processorTimes = (processes: Processes): Usage => sumOver(processes, processorTime);

/** Resident memory in MiB. */
export const memories = (processes: Processes): Usage => sumOver(processes, residentMemory);

/** What came on top since `before`; what is new counts from nothing. */
export function since(before: Usage, now: Usage): Usage {
  return Object.fromEntries(Object.entries(now).map(([name, value]) => [name, value - (before[name] ?? 0)]));
}

/** All of them together, but for those named. */
export function total(usage: Usage, ...except: readonly string[]): number {
  const counted = Object.entries(usage).filter(([name]) => !except.includes(name));
  return counted.reduce((sum, [, value]) => sum + value, 0);
}

/** The processes a process started, and those they started. Linux only, as /proc is. */
export function descendants(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const entry of readdirSync("/proc").map(Number).filter(Number.isInteger)) {
    const parent = parentOf(entry);
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), entry]);
  }
  const below = (parent: number): number[] => (children.get(parent) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    // Gone since the folder was read.
    return undefined;
  }
}
