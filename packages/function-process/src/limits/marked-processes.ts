// SPDX-License-Identifier: Apache-2.0
import { inSlices, listPids, type ProcessStat, readProc, readStat } from "./process-list.ts";
import { markOf } from "./process-mark.ts";

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
  await inSlices(listPids(), (pid) => {
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
