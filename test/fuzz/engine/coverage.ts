// SPDX-License-Identifier: Apache-2.0
// Which blocks of the code under test an input reached, by V8's own block coverage.
import { type Profiler, Session } from "node:inspector";

/** Collects blocks as they are reached. */
export interface Coverage {
  /** How many blocks were ever reached. */
  readonly size: number;
  /** The blocks that were reached since the last call. */
  take(): Set<string>;
  /** Those of `blocks` that were never seen before; they are from now on. */
  keepNew(blocks: ReadonlySet<string>): Set<string>;
}

/** Watches the code of some folders below `packages/`, in this thread. */
export function startCoverage(folders: readonly string[]): Coverage {
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  const seen = new Set<string>();
  const isWatched = (url: string): boolean => folders.some((folder) => url.includes(`/packages/${folder}/`));
  return {
    get size() {
      return seen.size;
    },
    take: () => blocksOf(takeAll(session).filter(({ url }) => isWatched(url))),
    keepNew: (blocks) => {
      const found = blocks.difference(seen);
      for (const block of found) seen.add(block);
      return found;
    },
  };
}

/** The session is in this thread, so the answer is there when `post` returns. */
function takeAll(session: Session): readonly Profiler.ScriptCoverage[] {
  let scripts: readonly Profiler.ScriptCoverage[] = [];
  session.post("Profiler.takePreciseCoverage", (error, coverage) => {
    if (error) throw error;
    scripts = coverage.result;
  });
  return scripts;
}

function blocksOf(scripts: readonly Profiler.ScriptCoverage[]): Set<string> {
  const blocks = new Set<string>();
  for (const { scriptId, functions } of scripts) {
    for (const { ranges } of functions) {
      for (const { startOffset, endOffset, count } of ranges) {
        if (count > 0) blocks.add(`${scriptId}:${startOffset}:${endOffset}`);
      }
    }
  }
  return blocks;
}
