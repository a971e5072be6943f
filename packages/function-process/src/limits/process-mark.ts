// SPDX-License-Identifier: Apache-2.0
import { randomInt } from "node:crypto";
import { readProc } from "./process-list.ts";

/**
 * Marks processes so that their descendants can be found wherever they went. The mark is the hard limit of two resources that Linux does
 * not limit any more (file locks, resident set): every descendant inherits it, whatever it does to its session, its parent or its
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
/** So many that two runs hardly ever share one, and that a mark in bytes is still a safe integer. */
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
  const variables = readProc(pid, "environ")?.split("\0") ?? [];
  const prefix = `${markVariable}=`;
  return variables.flatMap((one) => (one.startsWith(prefix) ? [Number(one.slice(prefix.length))] : []));
}

function hardLimit(limits: string, name: string): number {
  const line = limits.split("\n").find((one) => one.startsWith(name));
  return Number(line?.slice(name.length).trim().split(/\s+/)[1]);
}
