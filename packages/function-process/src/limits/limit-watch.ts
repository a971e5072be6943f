// SPDX-License-Identifier: Apache-2.0

import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";

import { inFlow, inTurns } from "@purlin/base";
import { type Census, createCensus, type Families } from "./census.ts";
import type { FunctionLimits } from "./function-limits.ts";
import type { MarkedRun, ProcessStat } from "./marked-processes.ts";
import {
  busyIn,
  type CpuClock,
  cpusUsed,
  createThrottle,
  type HeldFiles,
  heldFiles,
  heldText,
  isClose,
  judge,
  type LookStart,
  type MeasuredUsage,
  nextDuty,
  pageTableBytes,
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
  /** It must be stopped. Called once, and again after a call that throws. */
  exceeded(text: string): void;
  /** It is throttled or refused at a limit, or could not be measured, and keeps running. Called once for each reason. */
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
  /** Where the next look at its open files begins. */
  readonly filesStart: LookStart;
}

const noFiles: HeldFiles = { openFiles: 0, memoryBytes: 0, deletedBytes: 0 };

/** Functions are measured in time, however long the queues of other work are. */
const flow = { level: "system", name: "function limits" } as const;

/**
 * Creates a watch over the functions of a run. Measures nothing while there are no functions. Processes are counted for all of them at once,
 * and what takes longer is done for each by itself: one that takes long to measure does not keep the others from being measured. `census` is
 * for tests.
 */
export function createLimitWatch(
  run: MarkedRun,
  pace: WatchPace = defaultPace,
  census: Census = createCensus(run),
): LimitWatch {
  const all = new Map<number, Measured>();
  let timer: NodeJS.Timeout | undefined;
  let dueAt = 0;
  let countedAt = performance.now();
  let countMs = 0;
  let isCounting = false;
  /** The shortest delay that was asked for while processes are counted. */
  let askedMs = Number.POSITIVE_INFINITY;
  let isClosed = false;

  /** The next census comes after this delay, or before, if that was decided already. */
  function schedule(delayMs: number): void {
    if (isCounting) {
      askedMs = Math.min(askedMs, delayMs);
      return;
    }
    const delay = Math.max(delayMs, countMs);
    const at = performance.now() + delay;
    if (isClosed || all.size === 0 || (timer !== undefined && dueAt <= at)) return;
    clearTimeout(timer);
    dueAt = at;
    timer = setTimeout(() => void inFlow(flow, measureAll), delay).unref();
  }

  async function measureAll(): Promise<void> {
    timer = undefined;
    const present = [...all];
    const families = await countAll(present.map(([, one]) => one));
    if (families !== undefined) for (const [mark, one] of present) startLook(one, families.get(mark) ?? []);
    const hasNew = [...all.values()].some(({ measurements }) => measurements === 0);
    const delayMs = Math.min(askedMs, hasNew ? pace.closeMs : pace.usualMs);
    askedMs = Number.POSITIVE_INFINITY;
    schedule(delayMs);
  }

  function startLook(one: Measured, family: readonly ProcessStat[]): void {
    if (one.isOver || one.readyAt > countedAt) return;
    void look(one, family, countedAt).then((isNear) => {
      if (isNear) schedule(pace.closeMs);
    });
  }

  /** The processes of all functions; undefined when they cannot be counted. */
  async function countAll(present: readonly Measured[]): Promise<Families | undefined> {
    const began = performance.now();
    isCounting = true;
    try {
      return await census.take();
    } catch (error) {
      for (const one of present) reportFailure(one, error);
      return undefined;
    } finally {
      isCounting = false;
      countedAt = performance.now();
      countMs = countedAt - began;
    }
  }

  return {
    add(watched) {
      const one: Measured = {
        ...{ watched, cpu: new Map(), throttle: createThrottle(), reported: new Set<string>() },
        ...{ files: noFiles, duty: 1, overs: 0 },
        ...{ countedAt, measurements: 0, filesAfter: 0, readyAt: 0, isOver: false, filesStart: { pid: 0 } },
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

/** Measures one function, which is done also when it fails. True when it is close to a limit. */
async function look(one: Measured, family: readonly ProcessStat[], countedAt: number): Promise<boolean> {
  const began = performance.now();
  one.readyAt = Number.POSITIVE_INFINITY;
  try {
    return await measure(one, family, countedAt);
  } catch (error) {
    reportFailure(one, error);
    return false;
  } finally {
    one.readyAt = performance.now() + (performance.now() - began);
  }
}

async function measure(one: Measured, family: readonly ProcessStat[], countedAt: number): Promise<boolean> {
  const began = performance.now();
  const elapsedMs = countedAt - one.countedAt;
  one.countedAt = countedAt;
  if (one.measurements++ % filesEvery === 0 && began >= one.filesAfter) {
    one.files = await inTurns(heldFiles(family, one.filesStart));
    one.filesAfter = performance.now() + (performance.now() - began) * (filesShare - 1);
  }
  return check(one, family, elapsedMs);
}

/** Judges one function. True when it is close to a limit. */
async function check(one: Measured, family: readonly ProcessStat[], elapsedMs: number): Promise<boolean> {
  const { watched, files, reported } = one;
  const { limits, tmp } = watched;
  const tmpBytes = files.deletedBytes + (tmp === undefined ? 0 : await folderSize(tmp, limits.tmpBytes));
  const processes = family.reduce((sum, { threads }) => sum + threads, 0);
  const memoryBytes = await memoryOf(family, files.memoryBytes, limits);
  if (one.isOver) return false;
  const usage = { memoryBytes, processes, tmpBytes };
  const finding = judge(usage, limits);
  if (finding !== undefined && !reported.has("exceeded")) {
    one.throttle.end();
    watched.exceeded(finding.text);
    reported.add("exceeded");
    return true;
  }
  if (files.openFiles >= limits.openFiles) reportOnce(one, "openFiles");
  const busy = busyIn(family, one.cpu, elapsedMs);
  const cpus = cpusUsed(family, one.cpu, elapsedMs);
  watched.measured?.({ memoryBytes, processes: family.length, cpus });
  if (!reported.has("exceeded")) slowDown(one, cpus, busy);
  return isClose(usage, limits);
}

/** The memory of a family, and that of its files. Pages that processes share are counted once where it matters: that takes longer. */
async function memoryOf(family: readonly ProcessStat[], fileBytes: number, limits: FunctionLimits): Promise<number> {
  const others = fileBytes + (await pageTableBytes(family));
  const rough = residentBytes(family) + others;
  if (rough <= limits.memoryBytes) return rough;
  return (await proportionalBytes(family, limits.memoryBytes - others)) + others;
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

function reportOnce(one: Measured, limit: "cpus" | "openFiles"): void {
  if (one.reported.has(limit)) return;
  one.reported.add(limit);
  one.watched.held(heldText(limit, one.watched.limits));
}

/** Reports that a function could not be measured, once. */
function reportFailure(one: Measured, error: unknown): void {
  if (one.isOver || one.reported.has("failure")) return;
  one.reported.add("failure");
  const reason = error instanceof Error ? error.message : String(error);
  try {
    one.watched.held(
      `the function could not be measured: ${reason}; its limits take effect later, at the next measurement`,
    );
  } catch {
    // It may be the observer that fails.
  }
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
