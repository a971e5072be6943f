// SPDX-License-Identifier: Apache-2.0

import { closeSync, opendirSync, openSync, read, readlinkSync, statSync } from "node:fs";
import { promisify } from "node:util";
import { isPartDone, type Work } from "@purlin/base";
import { type FunctionLimits, limitNames, raiseAdvice, showLimit } from "./function-limits.ts";
import {
  descendantsOf,
  forEachInTurns,
  killSame,
  type ProcessStat,
  pageBytes,
  readProc,
  readStat,
  ticksPerSecond,
} from "./marked-processes.ts";

/** What the processes of one function use. */
interface Usage {
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
export type CpuClock = Map<string, Pick<ProcessStat, "ticks" | "childTicks">>;

/**
 * How many processors were used since the last measurement. Processes that ended meanwhile count where their parent waited for them: the
 * kernel adds their time to that of the parent then.
 */
export function cpusUsed(family: readonly ProcessStat[], clock: CpuClock, elapsedMs: number): number {
  const before = new Map(clock);
  clock.clear();
  let [ofPresent, ofAll] = [0, 0];
  for (const { ticks, childTicks } of before.values()) ofAll -= ticks + childTicks;
  for (const { pid, start, ticks, childTicks } of family) {
    const key = `${pid} ${start}`;
    ofPresent += ticks - (before.get(key)?.ticks ?? 0);
    ofAll += ticks + childTicks;
    clock.set(key, { ticks, childTicks });
  }
  // Neither is too much: one leaves out what has ended, the other what has ended without having been waited for.
  const ticks = Math.max(ofPresent, ofAll);
  return elapsedMs <= 0 ? 0 : ticks / ticksPerSecond / (elapsedMs / 1000);
}

/** Processes that use a noticeable part of a processor, or wait for others that do: only they are stopped and continued. */
const noticeable = 0.02;

/** The processes that have used a noticeable part of a processor since the last measurement. */
export function busyIn(family: readonly ProcessStat[], clock: CpuClock, elapsedMs: number): readonly ProcessStat[] {
  const least = noticeable * ((elapsedMs / 1000) * ticksPerSecond);
  return family.filter(({ pid, start, ticks, childTicks }) => {
    const before = clock.get(`${pid} ${start}`) ?? { ticks: 0, childTicks: 0 };
    return ticks + childTicks - before.ticks - before.childTicks >= least;
  });
}

/** Memory of a family, too much rather than too little: pages that processes share are counted for each of them. */
export function residentBytes(family: readonly ProcessStat[]): number {
  return family.reduce((sum, { resident }) => sum + resident, 0) * pageBytes();
}

/** Tables in which the kernel keeps where the memory of a family is. They can be large where there is no memory behind them. */
export async function pageTableBytes(family: readonly ProcessStat[]): Promise<number> {
  let kilobytes = 0;
  await forEachInTurns(family, ({ pid }) => {
    kilobytes += numberIn(readProc(pid, "status") ?? "", "VmPTE");
  });
  return kilobytes * 1024;
}

/**
 * Memory of a family in which shared pages are counted once, until it exceeds a limit. The kernel walks all pages of a process for it, which
 * takes milliseconds, so another thread waits for each. The largest come first: they decide.
 */
export async function proportionalBytes(
  family: readonly ProcessStat[],
  limit: number = Number.POSITIVE_INFINITY,
): Promise<number> {
  let bytes = 0;
  for (const { pid } of family.toSorted((a, b) => b.resident - a.resident)) {
    const rollup = await readRollup(pid);
    bytes += 1024 * (rollup === "" ? ownKilobytes(pid) : numberIn(rollup, "Pss"));
    if (bytes > limit) break;
  }
  return bytes;
}

const readAside = promisify(read);

/** Waits once for each process: on a busy event loop the five steps of `readFile` would take five turns. */
async function readRollup(pid: number): Promise<string> {
  let file: number | undefined;
  try {
    file = openSync(`/proc/${pid}/smaps_rollup`, "r");
    const { buffer, bytesRead } = await readAside(file, { buffer: Buffer.alloc(4096) });
    return buffer.toString("latin1", 0, bytesRead);
  } catch {
    return "";
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function ownKilobytes(pid: number): number {
  const status = readProc(pid, "status") ?? "";
  return numberIn(status, "RssAnon") + numberIn(status, "RssShmem");
}

function numberIn(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);
}

/** Files that are open in a family, and what is in those that have no name. */
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
/** Of a family, all processes together. What one does not need is left for those after it. */
const lookedAtOfFamily = 32_768;
/** Of each process, also when those before it have used up what the family has. */
const lookedAtAtLeast = 8;

/** Where the next look at the open files of a family begins, so that each process is the first now and then. */
export interface LookStart {
  pid: number;
}

/** Looks at the open files of a family, from the process that the last look did not complete. */
export function* heldFiles(family: readonly ProcessStat[], start: LookStart = { pid: 0 }): Work<HeldFiles> {
  const seen = new Set<string>();
  const sums = { memory: 0, deleted: 0 };
  const living = startingAt(start, family);
  const least = Math.min(lookedAtAtLeast, Math.floor(lookedAtOfFamily / 2 / living.length));
  let left = lookedAtOfFamily - least * living.length;
  let next: number | undefined;
  let openFiles = 0;
  for (const { pid } of living) {
    const most = Math.min(lookedAt, least + left);
    const { count, first } = yield* descriptorsOf(pid, most);
    openFiles = Math.max(openFiles, count);
    left -= Math.max(0, first.length - least);
    if (most < lookedAt && count > first.length) next ??= pid;
    for (const descriptor of first) {
      if (isPartDone()) yield;
      const held = nameless(`/proc/${pid}/fd/${descriptor}`);
      if (held === undefined || seen.has(held.id)) continue;
      seen.add(held.id);
      sums[held.kind] += held.bytes;
    }
    yield;
  }
  start.pid = next ?? start.pid;
  return { openFiles, memoryBytes: sums.memory, deletedBytes: sums.deleted };
}

/** The processes that have not ended, from one on, and then those before it. */
function startingAt({ pid: start }: LookStart, family: readonly ProcessStat[]): readonly ProcessStat[] {
  const living = family.filter(({ isZombie }) => !isZombie);
  const at = Math.max(
    0,
    living.findIndex(({ pid }) => pid >= start),
  );
  return [...living.slice(at), ...living.slice(0, at)];
}

interface Descriptors {
  readonly count: number;
  readonly first: readonly string[];
}

function* descriptorsOf(pid: number, most: number): Work<Descriptors> {
  const path = `/proc/${pid}/fd`;
  const first: string[] = [];
  let count = 0;
  try {
    // Linux says the number since 6.2; before, it has to be counted.
    const { size } = statSync(path);
    using folder = opendirSync(path, { bufferSize: 128 });
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      if (first.length < most) first.push(entry.name);
      else if (size > 0) break;
      count++;
      if (isPartDone()) yield;
    }
    return { count: Math.max(size, count), first };
  } catch {
    return { count, first };
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

type Target = Pick<ProcessStat, "pid" | "start">;

/** Slows processes down by stopping them for a part of each period, where the kernel does not do it. */
export interface Throttle {
  /** The part of the time that they may run, from 0 to 1, and the processes. 1 removes the limit. */
  set(duty: number, targets: readonly Target[]): void;
  /** Removes the limit. */
  end(): void;
}

const periodMs = 100;

/** What a function may always run, so that it answers now and then. */
const leastDuty = 0.05;

/** The part of the time that a function may run, from what it had and what it used of its limit. */
export function nextDuty(duty: number, used: number, limit: number): number {
  if (used <= 0) return 1;
  return Math.min(1, Math.max(leastDuty, (duty * limit) / used));
}

/** More descendants of the processes of a function are not stopped. To find as many takes 10 to 20 ms. */
const mostBelow = 1024;

/** What processes have started, and what that has: it may be new at each moment. */
function targetsBelow(targets: readonly Target[]): readonly Target[] {
  const pids = targets.map(({ pid }) => pid);
  return descendantsOf(pids, mostBelow).flatMap((one) => readStat(one) ?? []);
}

/** Makes a throttle: it stops processes, and then what they have started. The parameters are for tests. */
export function createThrottle(
  send: (target: Target, signal: NodeJS.Signals) => void = killSame,
  below: (targets: readonly Target[]) => readonly Target[] = targetsBelow,
): Throttle {
  let duty = 1;
  let targets: readonly Target[] = [];
  let stopped: readonly Target[] = [];
  let timer: NodeJS.Timeout | undefined;
  const go = (): void => {
    for (const one of stopped) send(one, "SIGCONT");
    stopped = [];
  };
  const hold = (): void => {
    for (const one of targets) send(one, "SIGSTOP");
    const started = below(targets);
    for (const one of started) send(one, "SIGSTOP");
    stopped = [...targets, ...started];
    timer = setTimeout(run, periodMs * (1 - duty)).unref();
  };
  const run = (): void => {
    go();
    timer = setTimeout(hold, periodMs * duty).unref();
  };
  const end = (): void => {
    clearTimeout(timer);
    timer = undefined;
    go();
  };
  return {
    end,
    set(wanted, who) {
      duty = wanted;
      targets = who;
      if (duty >= 1 || who.length === 0) end();
      else if (timer === undefined) run();
    },
  };
}

/** Something that a function used too much of. */
interface Finding {
  readonly limit: keyof FunctionLimits;
  /** For conditions and logs. */
  readonly text: string;
}

type Stopping = "memoryBytes" | "processes" | "tmpBytes";

/** Limits that a function must not exceed: it is stopped. */
const stopping: readonly Stopping[] = ["memoryBytes", "processes", "tmpBytes"];

/** The limit for which a function must be stopped; undefined when it keeps within all of them. */
export function judge(usage: Pick<Usage, Stopping>, limits: FunctionLimits): Finding | undefined {
  const limit = stopping.find((one) => usage[one] > limits[one]);
  return limit === undefined ? undefined : { limit, text: stoppedText(limit, limits, usage[limit]) };
}

/** The text of a function that was stopped for a limit. What it used is left out where only the kernel knows. */
export function stoppedText(limit: keyof FunctionLimits, limits: FunctionLimits, used?: number): string {
  const using = used === undefined ? "" : ` by using ${showLimit(limit, used)}`;
  const { words } = limitNames[limit];
  return `the function exceeded its ${words} of ${showLimit(limit, limits[limit])}${using} and was stopped; ${raiseAdvice(limit)}`;
}

/** The text of a function that continues, held to a limit. */
export function heldText(limit: "cpus" | "openFiles" | "logBytesPerSecond", limits: FunctionLimits): string {
  const { words } = limitNames[limit];
  return `the function reached its ${words} of ${showLimit(limit, limits[limit])}: ${consequences[limit]}; ${raiseAdvice(limit)}`;
}

const consequences = {
  cpus: "it is slowed down",
  openFiles: "it cannot open more",
  logBytesPerSecond: "further output was discarded",
} as const;

/** Whether a function is close enough to a limit to be measured more often. */
export function isClose(usage: Pick<Usage, Stopping>, limits: FunctionLimits): boolean {
  return stopping.some((one) => usage[one] > limits[one] / 2);
}
