// SPDX-License-Identifier: Apache-2.0

import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";

import { inFlow, inTurns } from "@purlin/base";
import type { FunctionLimits } from "./function-limits.ts";
import { forEachInTurns, listPids, type MarkedRun, markOf, type ProcessStat, readStat } from "./marked-processes.ts";
import {
  type CpuClock,
  cpusUsed,
  createThrottle,
  type HeldFiles,
  heldFiles,
  heldText,
  isClose,
  judge,
  type MeasuredUsage,
  nextDuty,
  proportionalBytes,
  residentBytes,
  type Throttle,
} from "./throttle.ts";

/** What an entry of a folder takes at least. */
const entryBytes = 1024;

/** Measures what functions use and reports when a limit is exceeded. */
export interface LimitWatch {
  /** Starts to measure a function; call the result when it has ended. */
  add(watched: WatchedFunction): () => void;
  close(): void;
}

/** A function to measure. */
interface WatchedFunction {
  /** The mark of all its processes. */
  readonly mark: number;
  readonly limits: FunctionLimits;
  /** The folder that it writes temporary files to, where it is on disk. */
  readonly tmp?: string | undefined;
  /** The kernel holds it to its CPU limit. */
  readonly isCpuLimited: boolean;
  /** Called with each measurement. */
  measured?(usage: MeasuredUsage): void;
  /** It must be stopped. Called once. */
  exceeded(text: string): void;
  /** It is throttled or refused at a limit and keeps running. Called once for each limit. */
  held(text: string): void;
}

/** How often functions are measured. */
export interface WatchPace {
  readonly usualMs: number;
  /** While one is close to a limit. */
  readonly closeMs: number;
}

const defaultPace: WatchPace = { usualMs: 2_000, closeMs: 250 };

/** Open files are counted only so often. */
const filesEvery = 4;
/** Counting them takes at most one part in this many of the time: the kernel makes an entry for each file that it lists. */
const filesShare = 10;

/** A function is throttled at once; this is reported after this many measurements in a row. */
const patience = 3;

/** Up to this above its CPU limit a function is left alone. */
const tolerance = 1.1;

interface Measured {
  readonly watched: WatchedFunction;
  readonly cpu: CpuClock;
  readonly throttle: Throttle;
  readonly reported: Set<string>;
  files: HeldFiles;
  duty: number;
  overs: number;
  /** When its processes were last counted. */
  countedAt: number;
  measurements: number;
  /** Its open files are not looked at again before. */
  filesAfter: number;
  /** It is not measured again before: what takes long is measured less often. */
  readyAt: number;
  /** What a measurement that still runs finds is of no use. */
  isOver: boolean;
}

const noFiles: HeldFiles = { openFiles: 0, memoryBytes: 0, deletedBytes: 0 };

/** Functions are measured in time, however long the queues of other work are. */
const flow = { level: "system", name: "function limits" } as const;

/**
 * Creates a watch over the functions of a run. Measures nothing while there are no functions. Processes are counted for all of them at once,
 * and what takes longer is done for each by itself: one that takes long to measure does not keep the others from being measured.
 */
export function createLimitWatch(run: MarkedRun, pace: WatchPace = defaultPace): LimitWatch {
  const all = new Map<number, Measured>();
  const census: Census = createCensus(run);
  let timer: NodeJS.Timeout | undefined;
  let dueAt = 0;
  let countedAt = performance.now();
  let countMs = 0;
  let isCounting = false;
  let isClosed = false;

  /** The next census comes after this delay, or before, if that was decided already. */
  function schedule(delayMs: number): void {
    const delay = Math.max(delayMs, countMs);
    const at = performance.now() + delay;
    if (isClosed || isCounting || all.size === 0 || (timer !== undefined && dueAt <= at)) return;
    clearTimeout(timer);
    dueAt = at;
    timer = setTimeout(() => void inFlow(flow, measureAll), delay).unref();
  }

  async function measureAll(): Promise<void> {
    timer = undefined;
    isCounting = true;
    const began = performance.now();
    const present = [...all];
    const families = await census.take();
    isCounting = false;
    countedAt = performance.now();
    countMs = countedAt - began;
    for (const [mark, one] of present) {
      if (one.isOver || one.readyAt > countedAt) continue;
      void measure(one, families.get(mark) ?? [], countedAt).then((isNear) => {
        if (isNear) schedule(pace.closeMs);
      });
    }
    const hasNew = [...all.values()].some(({ measurements }) => measurements === 0);
    schedule(hasNew ? pace.closeMs : pace.usualMs);
  }

  return {
    add(watched) {
      const one: Measured = {
        ...{ watched, cpu: new Map(), throttle: createThrottle(), reported: new Set<string>() },
        ...{ files: noFiles, duty: 1, overs: 0 },
        ...{ countedAt, measurements: 0, filesAfter: 0, readyAt: 0, isOver: false },
      };
      all.set(watched.mark, one);
      schedule(pace.closeMs);
      return () => {
        end(one);
        if (all.get(watched.mark) === one) all.delete(watched.mark);
      };
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
      for (const one of all.values()) end(one);
      all.clear();
    },
  };
}

function end(one: Measured): void {
  one.isOver = true;
  one.throttle.end();
}

/** Measures one function. True when it is close to a limit. */
async function measure(one: Measured, family: readonly ProcessStat[], countedAt: number): Promise<boolean> {
  const began = performance.now();
  const elapsedMs = countedAt - one.countedAt;
  one.countedAt = countedAt;
  one.readyAt = Number.POSITIVE_INFINITY;
  if (one.measurements++ % filesEvery === 0 && began >= one.filesAfter) {
    one.files = await inTurns(heldFiles(family));
    one.filesAfter = performance.now() + (performance.now() - began) * (filesShare - 1);
  }
  const isNear = await check(one, family, elapsedMs);
  one.readyAt = performance.now() + (performance.now() - began);
  return isNear;
}

/** Judges one function. True when it is close to a limit. */
async function check(one: Measured, family: readonly ProcessStat[], elapsedMs: number): Promise<boolean> {
  const { watched, files, reported } = one;
  const { limits, tmp } = watched;
  const tmpBytes = files.deletedBytes + (tmp === undefined ? 0 : await folderSize(tmp, limits.tmpBytes));
  const processes = family.reduce((sum, { threads }) => sum + threads, 0);
  const rough = residentBytes(family) + files.memoryBytes;
  const memoryBytes =
    rough > limits.memoryBytes
      ? (await proportionalBytes(family, limits.memoryBytes - files.memoryBytes)) + files.memoryBytes
      : rough;
  if (one.isOver) return false;
  const usage = { memoryBytes, processes, tmpBytes };
  const finding = judge(usage, limits);
  if (finding !== undefined && !reported.has("exceeded")) {
    reported.add("exceeded");
    one.throttle.end();
    watched.exceeded(finding.text);
    return true;
  }
  if (files.openFiles >= limits.openFiles) reportOnce(one, "openFiles");
  const busy = busyIn(family, one.cpu, elapsedMs);
  const cpus = cpusUsed(family, one.cpu, elapsedMs);
  watched.measured?.({ memoryBytes, processes: family.length, cpus });
  if (!reported.has("exceeded")) slowDown(one, cpus, busy);
  return isClose(usage, limits);
}

function slowDown(one: Measured, used: number, busy: readonly ProcessStat[]): void {
  const { watched } = one;
  const { cpus: limit } = watched.limits;
  const isOver = used > limit * tolerance;
  one.overs = isOver || one.duty < 1 ? one.overs + 1 : 0;
  if (one.overs >= patience) reportOnce(one, "cpus");
  if (watched.isCpuLimited) return;
  if (isOver || one.duty < 1) one.duty = nextDuty(one.duty, used, limit);
  one.throttle.set(one.duty, busy);
}

/** Processes that use a noticeable part of a processor: only they are stopped and continued. */
const noticeable = 0.02;

function busyIn(family: readonly ProcessStat[], clock: CpuClock, elapsedMs: number): readonly ProcessStat[] {
  const least = noticeable * (elapsedMs / 10);
  return family.filter(({ pid, start, ticks }) => ticks - (clock.get(`${pid} ${start}`) ?? 0) >= least);
}

function reportOnce(one: Measured, limit: "cpus" | "openFiles"): void {
  if (one.reported.has(limit)) return;
  one.reported.add(limit);
  one.watched.held(heldText(limit, one.watched.limits));
}

/** The bytes that a folder takes on disk, counted until they exceed a limit. Links are not followed. */
async function folderSize(path: string, limit: number): Promise<number> {
  let total = 0;
  const folders = [path];
  for (let at = folders.pop(); at !== undefined && total <= limit; at = folders.pop()) {
    const folder = at;
    const entries = await opendir(folder).catch(() => undefined);
    if (entries === undefined) continue;
    for await (const entry of entries) {
      const stats = await lstat(join(folder, entry.name)).catch(() => undefined);
      total += entryBytes + (stats?.blocks ?? 0) * 512;
      if (entry.isDirectory()) folders.push(join(folder, entry.name));
      if (total > limit) break;
    }
  }
  return total;
}

/** Counts the processes of all functions, in one pass over the machine. */
interface Census {
  /** The processes of each function that has some, by its mark. */
  take(): Promise<ReadonlyMap<number, readonly ProcessStat[]>>;
}

/** After this many passes every process is looked at again: a pid may have come round without having been missed. */
const refresh = 16;

/**
 * Makes a census of a run. A process is looked at when it is first seen; after that only those of functions are, so that a pass costs
 * little on a machine with many others. A child of a function's process belongs to the function, whatever it did to its mark.
 */
function createCensus(run: MarkedRun): Census {
  let known = new Map<number, { readonly start: number; readonly mark: number | undefined }>();
  let passes = 0;

  function look(
    pid: number,
    before: ReadonlyMap<number, { readonly start: number; readonly mark?: number | undefined }>,
  ) {
    const entry = before.get(pid);
    if (entry !== undefined && entry.mark === undefined) return { entry };
    const stat = readStat(pid);
    if (stat === undefined) return undefined;
    if (entry?.start === stat.start) return { entry, stat };
    const mark = stat.start < run.since ? undefined : (before.get(stat.parent)?.mark ?? markOf(pid, run.first));
    return { entry: { start: stat.start, mark }, stat };
  }

  return {
    async take() {
      if (++passes % refresh === 0) known = new Map([...known].filter(([, { mark }]) => mark !== undefined));
      const seen: typeof known = new Map();
      const members = new Map<number, ProcessStat[]>();
      await forEachInTurns(listPids(), (pid) => {
        if (pid === process.pid) return;
        const found = look(pid, known);
        if (found === undefined) return;
        const mark = found.entry.mark;
        seen.set(pid, { start: found.entry.start, mark });
        if (mark === undefined || found.stat === undefined) return;
        const family = members.get(mark);
        if (family === undefined) members.set(mark, [found.stat]);
        else family.push(found.stat);
      });
      known = seen;
      return members;
    },
  };
}
