// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readlinkSync, statSync } from "node:fs";
import { type ProcessStat, pageBytes, readProc, ticksPerSecond } from "./process-list.ts";

/** What the processes of one function use. */
export interface Usage {
  readonly memoryBytes: number;
  readonly processes: number;
  /** Processors, on average since the last measurement. */
  readonly cpus: number;
  /** Of the process that has most. */
  readonly openFiles: number;
  readonly tmpBytes: number;
}

/** What the processes of one function used at the last measurement. */
export type MeasuredUsage = Pick<Usage, "memoryBytes" | "processes" | "cpus">;

/** Processor time of each process at the last measurement, by pid and start. */
export type CpuClock = Map<string, number>;

/** How many processors were used since the last measurement. Processes that ended meanwhile are not counted. */
export function cpusUsed(family: readonly ProcessStat[], clock: CpuClock, elapsedMs: number): number {
  const before = new Map(clock);
  clock.clear();
  let ticks = 0;
  for (const { pid, start, ticks: now } of family) {
    const key = `${pid} ${start}`;
    ticks += now - (before.get(key) ?? 0);
    clock.set(key, now);
  }
  return elapsedMs <= 0 ? 0 : ticks / ticksPerSecond / (elapsedMs / 1000);
}

/** Memory of a family, too much rather than too little: pages that processes share are counted for each of them. */
export function residentBytes(family: readonly ProcessStat[]): number {
  return family.reduce((sum, { resident }) => sum + resident, 0) * pageBytes();
}

/** Memory of a family in which shared pages are counted once. It takes longer: the kernel walks all pages. */
export function proportionalBytes(family: readonly ProcessStat[]): number {
  const kilobytes = family.map(({ pid }) => {
    const rollup = readProc(pid, "smaps_rollup");
    if (rollup !== undefined && rollup !== "") return numberIn(rollup, "Pss");
    const status = readProc(pid, "status") ?? "";
    return numberIn(status, "RssAnon") + numberIn(status, "RssShmem");
  });
  return kilobytes.reduce((sum, one) => sum + one, 0) * 1024;
}

function numberIn(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);
}

/** Files that are open in a family, and what is in those that have no name any more. */
export interface HeldFiles {
  /** Of the process that has most. */
  readonly openFiles: number;
  /** Files in memory that no page count includes. */
  readonly memoryBytes: number;
  /** Files on disk that were deleted and still take room. */
  readonly deletedBytes: number;
}

/** More of one process are not looked at: the number is known without. */
const lookedAt = 512;

/** Looks at the open files of a family. */
export function heldFiles(family: readonly ProcessStat[]): HeldFiles {
  const seen = new Set<string>();
  const sums = { memory: 0, deleted: 0 };
  let openFiles = 0;
  for (const { pid, isZombie } of family) {
    if (isZombie) continue;
    const descriptors = descriptorsOf(pid);
    openFiles = Math.max(openFiles, descriptors.length);
    for (const descriptor of descriptors.slice(0, lookedAt)) {
      const held = nameless(`/proc/${pid}/fd/${descriptor}`);
      if (held === undefined || seen.has(held.id)) continue;
      seen.add(held.id);
      sums[held.kind] += held.bytes;
    }
  }
  return { openFiles, memoryBytes: sums.memory, deletedBytes: sums.deleted };
}

function descriptorsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    return [];
  }
}

function nameless(
  path: string,
): { readonly kind: "memory" | "deleted"; readonly id: string; readonly bytes: number } | undefined {
  try {
    const target = readlinkSync(path);
    const isMemory = target.startsWith("/memfd:");
    if (!isMemory && !(target.startsWith("/") && target.endsWith(" (deleted)"))) return undefined;
    const { dev, ino, blocks } = statSync(path);
    return { kind: isMemory ? "memory" : "deleted", id: `${dev} ${ino}`, bytes: blocks * 512 };
  } catch {
    return undefined;
  }
}
