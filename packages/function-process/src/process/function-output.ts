// SPDX-License-Identifier: Apache-2.0
// The output of a function: a log file, the last lines in memory, and a rate limit.
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Clock } from "@purlin/base";
import type { FunctionSpec } from "./function-process.ts";

/** A file that a program's output is appended to. */
export interface LogFile {
  add(text: string): void;
}

/**
 * Appends to a file; when it is full it becomes `FILE.1` and a new one begins, so the two never hold more than twice the
 * limit. When the disk is full or the folder is gone, lines are lost and nothing else. The file exists from the start, so that an
 * empty log can be distinguished from a missing one.
 */
export function openLogFile(path: string, maxBytes: number): LogFile {
  let size = sizeOf(path);
  const add = (text: string): void => {
    try {
      if (size > maxBytes) {
        renameSync(path, `${path}.1`);
        size = 0;
      }
      if (size === 0) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      appendFileSync(path, text, { mode: 0o600 });
      size += Buffer.byteLength(text);
    } catch {
      // A log that cannot be written must not stop the function.
      size = sizeOf(path);
    }
  };
  add("");
  return { add };
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}

/** The last lines a program wrote. */
interface LogTail {
  add(text: string): void;
  /** Oldest first, a line that is still being written included. */
  lines(): readonly string[];
}

/** The longest line kept; longer ones are truncated. */
const maxLine = 4_096;

/** Keeps the last lines of a program, up to a number of characters. */
export function createLogTail(maxCharacters: number): LogTail {
  let kept: string[] = [];
  let first = 0;
  let size = 0;
  let partial = "";
  const push = (line: string): void => {
    kept.push(line);
    size += line.length + 1;
    while (size > maxCharacters && first < kept.length - 1) size -= (kept[first++] ?? "").length + 1;
    // Compacted only now and then, so that the cost of a line is constant.
    if (first > 1_000 && first > kept.length / 2) {
      kept = kept.slice(first);
      first = 0;
    }
  };
  return {
    add(text) {
      const parts = text.split("\n");
      parts[0] = partial + (parts[0] ?? "");
      partial = (parts.pop() ?? "").slice(0, maxLine);
      for (const line of parts) push(line.slice(0, maxLine));
    },
    lines: () => (partial === "" ? kept.slice(first) : [...kept.slice(first), partial]),
  };
}

/** Limits the rate of a program's output and discards the rest. */
export interface LogRate {
  /** The part of a text to keep. */
  keep(text: string): string;
}

/** A burst may be as large as this many seconds at the rate. */
const burstSeconds = 4;

/** Creates a rate limit. `exceeded` is called when output is discarded for the first time. */
export function createLogRate(bytesPerSecond: number, clock: Clock, exceeded: () => void): LogRate {
  const most = bytesPerSecond * burstSeconds;
  let left = most;
  let last = clock.now();
  let discarded = 0;
  let isReported = false;
  return {
    keep(text) {
      const now = clock.now();
      left = Math.min(most, left + (Math.max(0, now - last) / 1000) * bytesPerSecond);
      last = now;
      // As many as the log file grows by: a character may have four, and a byte that is not UTF-8 is written as three.
      const bytes = Buffer.byteLength(text);
      if (bytes > left) {
        discarded += bytes;
        if (!isReported) exceeded();
        isReported = true;
        return "";
      }
      left -= bytes;
      const note = discarded === 0 ? "" : `\n[${discarded} bytes were discarded: more than the log limit]\n`;
      discarded = 0;
      return note + text;
    },
  };
}

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
