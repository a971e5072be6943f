// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";

/** What the kernel says about a process. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** With the pid it names a process for as long as the machine runs: pids come round again. In ticks since boot. */
  readonly start: number;
  /** Processor time so far, in ticks; children that were waited for are not included. */
  readonly ticks: number;
  readonly threads: number;
  /** In pages. */
  readonly resident: number;
  /** It has ended, and its parent has not asked how. */
  readonly isZombie: boolean;
}

/** Ticks in a second, on every platform of Linux. */
export const ticksPerSecond = 100;

/** All pids of the machine. None where there is no /proc. */
export function listPids(): readonly number[] {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** Reads what the kernel says about a process; undefined when it is gone. */
export function readStat(pid: number): ProcessStat | undefined {
  const text = readProc(pid, "stat");
  if (text === undefined) return undefined;
  // What comes before is its name, in parentheses, which may hold anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const at = (field: number): number => Number(fields[field - 3]);
  return {
    pid,
    parent: at(4),
    start: at(22),
    ticks: at(14) + at(15),
    threads: Math.max(1, at(20)),
    resident: at(24),
    isZombie: fields[0] === "Z" || fields[0] === "X",
  };
}

/** Reads a file of a process; undefined when the process is gone or the file is not ours to read. */
export function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return undefined;
  }
}

/** The descendants of a process, parents first. Empty where there is no /proc. */
export function processesBelow(pid: number): readonly number[] {
  const children = Map.groupBy(listPids(), (one) => readStat(one)?.parent);
  const below = (parent: number): number[] => (children.get(parent) ?? []).flatMap((one) => [one, ...below(one)]);
  return below(pid);
}

const slice = 64;

/** Handles items one after the other, and lets other work in between. */
export async function inSlices<T>(items: readonly T[], handle: (item: T) => void): Promise<void> {
  for (let at = 0; at < items.length; at += slice) {
    for (const item of items.slice(at, at + slice)) handle(item);
    if (at + slice < items.length) await setImmediate();
  }
}

let known: number | undefined;

/** Bytes of a page of memory, from the vector that the kernel hands to every program. */
export function pageBytes(): number {
  known ??= readPageBytes();
  return known;
}

const pageSizeEntry = 6n;

function readPageBytes(): number {
  try {
    const entries = readFileSync("/proc/self/auxv");
    for (let at = 0; at + 16 <= entries.length; at += 16) {
      if (entries.readBigUInt64LE(at) === pageSizeEntry) return Number(entries.readBigUInt64LE(at + 8));
    }
  } catch {
    // There is no such file, or it has another shape.
  }
  return 4096;
}
