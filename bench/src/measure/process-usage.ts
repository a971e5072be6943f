// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs";

// Linux only, as /proc is.

/** The resident memory of a process in MiB. */
export function residentMemory(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  if (kibibytes === undefined) throw new Error(`/proc/${pid}/status shows no VmRSS; is the process gone?`);
  return Number(kibibytes) / 1024;
}

/** The memory of a process in MiB, what it shares with others divided among them. */
export function shareOfMemory(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const kibibytes = /^Pss:\s+(\d+) kB$/m.exec(text)?.[1];
  if (kibibytes === undefined) throw new Error(`/proc/${pid}/smaps_rollup shows no Pss; is the process gone?`);
  return Number(kibibytes) / 1024;
}

const ticksPerSecond = 100;

/** The processor time a process has used so far, all its threads, in seconds. */
export function processorTime(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second field is the name in parentheses and may hold spaces; user and system time are the 14th and 15th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/**
 * The time that the threads of a process have been on a processor, in seconds, to the nanosecond: for processes that do so little that
 * the clock ticks of {@link processorTime} count nothing. Threads that have ended are left out. Zero for a process that is gone.
 */
export function fineProcessorTime(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const times = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8"));
    return times.reduce((sum, text) => sum + Number(text.split(" ")[0]), 0) / 1e9;
  } catch {
    return 0;
  }
}
