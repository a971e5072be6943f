// SPDX-License-Identifier: Apache-2.0
import { randomInt } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { Turns } from "@purlin/base";

/** What the kernel says about a process. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** With the pid it names a process for as long as the machine runs: pids come round again. In ticks since boot. */
  readonly start: number;
  /** Processor time so far, in ticks; children that were waited for are not included. */
  readonly ticks: number;
  /** That of children that were waited for, and of theirs. */
  readonly childTicks: number;
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
    childTicks: at(16) + at(17),
    threads: Math.max(1, at(20)),
    resident: at(24),
    isZombie: fields[0] === "Z" || fields[0] === "X",
  };
}

/** Reads a file of a process; undefined when the process is gone or the file is not ours to read. */
export function readProc(pid: number, file: string, encoding: "utf8" | "latin1" = "utf8"): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, encoding);
  } catch {
    return undefined;
  }
}

/**
 * Descendants of some processes, which are not among them, parents first, up to a number of them. Reads each process once, and not all
 * processes of the machine; finds none where the kernel does not list children.
 */
export function descendantsOf(pids: readonly number[], most: number): readonly number[] {
  const family = [...new Set(pids)];
  const [known, count] = [new Set(family), family.length];
  for (let at = 0; at < family.length && family.length - count < most; at++) {
    for (const child of childrenOf(family[at] ?? 0)) {
      if (known.has(child)) continue;
      known.add(child);
      family.push(child);
    }
  }
  return family.slice(count, count + most);
}

/** A child is listed with the thread that started it. */
function childrenOf(pid: number): readonly number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const lists = threads.map((thread) => readProc(pid, `task/${thread}/children`) ?? "");
    return lists.flatMap((list) => list.split(" ").filter(Boolean).map(Number));
  } catch {
    return [];
  }
}

/** The descendants of a process, parents first. Empty where there is no /proc. */
export function processesBelow(pid: number): readonly number[] {
  const children = Map.groupBy(listPids(), (one) => readStat(one)?.parent);
  const below = (parent: number): number[] => (children.get(parent) ?? []).flatMap((one) => [one, ...below(one)]);
  return below(pid);
}

/** Handles items one after the other, and lets other work in between. */
export async function forEachInTurns<T>(items: readonly T[], handle: (item: T) => void): Promise<void> {
  const turns = new Turns();
  for (const item of items) {
    handle(item);
    if (turns.isOver) await turns.next();
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

/** Marked processes of a run of the control plane. */
export interface MarkedRun {
  /** The first mark of the run. */
  readonly first: number;
  /** Nothing that was started before this belongs to it, in ticks since boot. */
  readonly since: number;
  readonly uid: number;
}

/** A process of a function, and the mark of that function. */
interface MarkedProcess {
  readonly stat: ProcessStat;
  readonly mark: number;
}

/** Finds the processes of a run by their marks, in one pass over all processes of the machine. */
export async function findMarked(run: MarkedRun): Promise<readonly MarkedProcess[]> {
  const found: MarkedProcess[] = [];
  await forEachInTurns(listPids(), (pid) => {
    if (pid === process.pid) return;
    const stat = readStat(pid);
    if (stat === undefined || stat.isZombie || stat.start < run.since) return;
    const mark = markOf(pid, run.first);
    if (mark !== undefined && isOwnedBy(pid, run.uid)) found.push({ stat, mark });
  });
  return found;
}

/** Whether a process runs as a user. The owner of its folder says less: it is root where the process keeps its memory from being read. */
function isOwnedBy(pid: number, uid: number): boolean {
  return Number(/^Uid:\s+(\d+)/m.exec(readProc(pid, "status") ?? "")?.[1]) === uid;
}

/** Rounds until nothing is left: what is being forked while the others end is found in the next one. */
const rounds = 50;

/** Ends the processes of a run whose mark is wanted, until none is left. Returns how many were found. */
export async function endMarked(run: MarkedRun, isWanted: (mark: number) => boolean): Promise<number> {
  let total = 0;
  for (let round = 0; round < rounds; round++) {
    const found = (await findMarked(run)).filter(({ mark }) => isWanted(mark));
    if (found.length === 0) return total;
    total += round === 0 ? found.length : 0;
    for (const { stat } of found) killSame(stat);
  }
  return total;
}

/** Ends a process, unless its pid belongs to another one by now. */
export function killSame({ pid, start }: Pick<ProcessStat, "pid" | "start">, signal: NodeJS.Signals = "SIGKILL"): void {
  if (readStat(pid)?.start !== start) return;
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended, or runs as another user.
  }
}

/**
 * Marks processes so that their descendants can be found wherever they went. The mark is the hard limit of two resources that Linux does
 * no longer limit (file locks, resident set): every descendant inherits it, whatever it does to its session, its parent or its
 * environment, and a process without privileges can only lower it. The same number is in an environment variable, as a second way.
 */
interface Marks {
  /** Identifies this run of the control plane: the first of its marks. */
  readonly first: number;
  /** A mark that no other process has. */
  next(): number;
}

/** How many marks a run has. */
const marksOfRun = 2 ** 20;
/** Large enough that two runs hardly ever share one, and that a mark in bytes is still a safe integer. */
const runs = 2 ** 23;

/** The environment variable with the mark. */
export const markVariable = "PURLIN_FUNCTION_MARK";

/** Makes the marks of a run of the control plane. */
export function createMarks(): Marks {
  const first = (runs / 2 + randomInt(runs / 2)) * marksOfRun;
  let used = 0;
  return {
    first,
    next: () => first + (used++ % marksOfRun),
  };
}

function isOfRun(mark: number, first: number): boolean {
  return mark >= first && mark < first + marksOfRun;
}

/** Shell text that marks the shell and all that it starts. Shells call the limit of file locks -x (bash) or -w (dash). */
export function markScript(mark: number): string {
  return `ulimit -m ${mark} 2>/dev/null; ulimit -x ${mark} 2>/dev/null || ulimit -w ${mark} 2>/dev/null`;
}

/** Shell text that ends all marked processes but the shell itself, in two rounds, with nothing but what every shell can do. */
export function searchScript(mark: number): string {
  return `
read -r self rest </proc/self/stat
for round in 1 2; do
  for folder in /proc/[0-9]*; do
    pid=\${folder#/proc/}
    [ "$pid" = "$self" ] && continue
    [ "$pid" = "$$" ] && continue
    while read -r line; do
      case $line in
        "Max file locks "*" ${mark} "*|"Max resident set "*" ${mark * 1024} "*) kill -KILL "$pid"; break ;;
      esac
    done <"$folder/limits"
  done
done 2>/dev/null`;
}

/** The mark of a run that a process has, in its limits or in its environment; undefined when it has none. */
export function markOf(pid: number, first: number): number | undefined {
  const ours = (mark: number | undefined): mark is number => mark !== undefined && isOfRun(mark, first);
  return marksInLimits(readProc(pid, "limits") ?? "").find(ours) ?? marksInEnvironment(pid).find(ours);
}

/** The numbers of the two limits, in the text of `/proc/PID/limits`. A process may have lowered one of them. */
export function marksInLimits(limits: string): readonly number[] {
  const locks = hardLimit(limits, "Max file locks");
  // Shells count it in kilobytes.
  const resident = hardLimit(limits, "Max resident set") / 1024;
  return [locks, resident].filter(Number.isInteger);
}

function marksInEnvironment(pid: number): readonly number[] {
  const text = `\0${readProc(pid, "environ", "latin1") ?? ""}\0`;
  const prefix = `\0${markVariable}=`;
  const marks: number[] = [];
  // Splitting it would make millions of texts of an environment of two megabytes.
  for (let at = text.indexOf(prefix); at !== -1; at = text.indexOf(prefix, at + prefix.length)) {
    const start = at + prefix.length;
    marks.push(Number(text.slice(start, text.indexOf("\0", start))));
    if (marks.length === mostMarks) break;
  }
  return marks;
}

/** A program has one mark, or two where it started itself again. */
const mostMarks = 64;

function hardLimit(limits: string, name: string): number {
  const line = limits.split("\n").find((one) => one.startsWith(name));
  return Number(line?.slice(name.length).trim().split(/\s+/)[1]);
}
