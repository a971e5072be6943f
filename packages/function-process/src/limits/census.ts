// SPDX-License-Identifier: Apache-2.0
import { forEachInTurns, listPids, type MarkedRun, markOf, type ProcessStat, readStat } from "./marked-processes.ts";

/** The processes of each function that has some, by its mark. */
export type Families = ReadonlyMap<number, readonly ProcessStat[]>;

/** Counts the processes of all functions, in one pass over the machine. */
export interface Census {
  take(): Promise<Families>;
}

/** After this many passes every process is looked at again: a pid may have come round without having been missed. */
const refresh = 16;

/**
 * Makes a census of a run. A process is looked at when it is first seen; after that only those of functions are, so that a pass costs
 * little on a machine with many others. A child of a function's process belongs to the function, whatever it did to its mark.
 */
export function createCensus(run: MarkedRun): Census {
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
