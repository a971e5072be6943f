// SPDX-License-Identifier: Apache-2.0
import { readdir, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { FunctionSpec } from "./function-process.ts";

/** The log of one process of a function: of a revision of its package, or of its source file. */
export interface FunctionLog {
  readonly functionName: string;
  /** The name of the FunctionRevision; that of the Function where a source file runs. */
  readonly revision: string;
  /** What was written before the file was last full is in `PATH.1`. */
  readonly path: string;
  /** When something was last written, in milliseconds since the epoch. */
  readonly writtenMs: number;
}

/** The folder of logs in the folder of function processes. */
export const functionLogFolder = "logs";

const ending = ".log";

/** The log file of a function: grouped by Function, so that the logs of all its revisions are found without an API server. */
export function functionLogPath(directory: string, { name, functionName = name }: LogName): string {
  return join(directory, functionName, `${name}${ending}`);
}

type LogName = Pick<FunctionSpec, "name" | "functionName">;

/** All logs in a folder, whether or not a function runs; the most recently written last. */
export async function listFunctionLogs(directory: string): Promise<readonly FunctionLog[]> {
  const functions = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const found = functions.filter((entry) => entry.isDirectory()).map(({ name }) => logsOf(directory, name));
  return (await Promise.all(found)).flat().toSorted(byTime);
}

async function logsOf(directory: string, functionName: string): Promise<FunctionLog[]> {
  const names = await readdir(join(directory, functionName)).catch(() => []);
  const logs = names.filter((name) => name.endsWith(ending)).map((name) => join(directory, functionName, name));
  const found = await Promise.all(
    logs.map(async (path) => {
      // It was collected or rotated since the folder was read.
      const stats = await stat(path).catch(() => undefined);
      return stats && { functionName, revision: basename(path, ending), path, writtenMs: stats.mtimeMs };
    }),
  );
  return found.filter((log) => log !== undefined);
}

function byTime(a: FunctionLog, b: FunctionLog): number {
  return a.writtenMs - b.writtenMs || (a.revision < b.revision ? -1 : 1);
}

/**
 * Removes the logs of deleted revisions, except the last few of each Function, which may show why it failed. `isThere` says whether a revision
 * still exists or a process still writes.
 */
export async function collectFunctionLogs(
  directory: string,
  { isThere, spare }: { readonly isThere: (log: FunctionLog) => boolean; readonly spare: number },
): Promise<void> {
  const gone = (await listFunctionLogs(directory)).filter((log) => !isThere(log));
  for (const logs of Map.groupBy(gone, ({ functionName }) => functionName).values()) {
    for (const { path } of logs.slice(0, Math.max(0, logs.length - spare))) {
      await rm(path, { force: true });
      await rm(`${path}.1`, { force: true });
    }
  }
}
