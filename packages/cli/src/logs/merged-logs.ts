// SPDX-License-Identifier: Apache-2.0

import { type FileHandle, open } from "node:fs/promises";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as delay } from "node:timers/promises";
import type { FunctionLog } from "@purlin/function-process";
import { harmless } from "../harmless.ts";
import type { Io } from "../io.ts";

/** A line of a function, with what can be read off it. */
export interface LogLine {
  readonly function: string;
  readonly revision: string;
  /** In milliseconds; that of the line before where the line has none. */
  readonly time?: number | undefined;
  /** The composite resource that the line is about, such as `App/shop`. */
  readonly xr?: string | undefined;
  readonly namespace?: string | undefined;
  readonly text: string;
}

/** Which lines are wanted, and how they are printed. */
interface MergeOptions {
  /** Lists the logs; called again while following, because functions come and go. */
  readonly list: () => Promise<readonly FunctionLog[]>;
  readonly isWanted: (line: LogLine) => boolean;
  readonly tail: number | undefined;
  readonly isFollowing: boolean;
  readonly isJson: boolean;
}

const pollMs = 200;

/** Prints the lines of several functions in the order of their times, each with the name of its function. */
export async function printMerged(
  { list, isWanted, tail, isFollowing, isJson }: MergeOptions,
  io: Io,
): Promise<boolean> {
  const sources = new Map<string, Source>();
  const next = async (): Promise<LogLine[]> => {
    const lines: LogLine[] = [];
    for (const log of await list()) {
      const source = sources.get(log.path) ?? createSource(log);
      sources.set(log.path, source);
      lines.push(...(await source.next()));
    }
    // A stable sort: lines of one function keep their order.
    return lines.filter(isWanted).sort((a, b) => (a.time ?? 0) - (b.time ?? 0));
  };
  const print = (lines: readonly LogLine[]): void => {
    const width = Math.max(0, ...lines.map((line) => line.function.length));
    for (const line of lines) io.stdout.write(isJson ? `${JSON.stringify(line)}\n` : textOf(line, width, io));
  };
  const first = await next();
  print(tail === undefined ? first : first.slice(-tail || first.length));
  while (isFollowing && !io.signal.aborted) {
    await delay(pollMs, undefined, { signal: io.signal }).catch(() => {});
    print(await next());
  }
  return first.length > 0;
}

function textOf(line: LogLine, width: number, { stdout }: Io): string {
  const text = `${line.function.padEnd(width)}  ${line.text}\n`;
  return stdout.isTTY ? harmless(text) : text;
}

interface Source {
  /** Whole lines that were written since the last time. */
  next(): Promise<readonly LogLine[]>;
}

function createSource({ functionName, revision, path }: FunctionLog): Source {
  const reader: LogReader = readLog(path);
  let rest = "";
  let before: Pick<LogLine, "time" | "xr" | "namespace"> = {};
  return {
    async next() {
      const lines = `${rest}${await reader.next()}`.split("\n");
      rest = lines.pop() ?? "";
      return lines.map((text) => {
        const read = readLine(text);
        // A line without a time belongs to the one before: a stack trace, or the rest of an object.
        before = read.time === undefined ? before : read;
        return { function: functionName, revision, ...before, text };
      });
    },
  };
}

/** Reads the time and the composite resource off a line of an SDK: JSON, or text with JSON at its end. */
function readLine(text: string): Pick<LogLine, "time" | "xr" | "namespace"> {
  const iso = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)/.exec(text)?.[0];
  const seconds = /"ts": ?([\d.]+)/.exec(text)?.[1];
  const inJson = /"(?:ts|time|timestamp)": ?"([^"]+)"/.exec(text)?.[1];
  const time = seconds === undefined ? Date.parse(iso ?? inJson ?? "") : Number(seconds) * 1000;
  const xr = /"xr": ?"([^"]+)"/.exec(text)?.[1];
  const namespace = xr === undefined ? undefined : /"namespace": ?"([^"]+)"/.exec(text)?.[1];
  return {
    ...(Number.isFinite(time) && { time }),
    ...(xr !== undefined && { xr }),
    ...(namespace !== undefined && { namespace }),
  };
}

/** Reads a log that another process writes. */
export interface LogReader {
  /** What was written since the last time; at first everything there is. */
  next(): Promise<string>;
}

/**
 * Reads a log file that is moved to `PATH.1` when it is full: what was written there before it was moved is not missed. A
 * file that is not there has nothing in it.
 */
export function readLog(path: string): LogReader {
  let at: { inode: number; offset: number } | undefined;
  const decoder = new StringDecoder("utf8");
  return {
    async next() {
      await using files = new AsyncDisposableStack();
      // This one first: should it be moved aside now, the other one is the same file and is left out.
      const current = await opened(path, files);
      const moved = await opened(`${path}.1`, files);
      const chunks: Buffer[] = [];
      if (moved !== undefined && moved.inode !== current?.inode) {
        if (at === undefined) chunks.push(await readFrom(moved.file, 0));
        else if (moved.inode === at.inode) chunks.push(await readFrom(moved.file, at.offset));
      }
      if (current !== undefined) {
        const from = at?.inode === current.inode && at.offset <= current.size ? at.offset : 0;
        const bytes = await readFrom(current.file, from);
        chunks.push(bytes);
        at = { inode: current.inode, offset: from + bytes.length };
      }
      return decoder.write(Buffer.concat(chunks));
    },
  };
}

interface OpenFile {
  readonly file: FileHandle;
  readonly inode: number;
  readonly size: number;
}

async function opened(path: string, files: AsyncDisposableStack): Promise<OpenFile | undefined> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  files.defer(() => file.close());
  const { ino, size } = await file.stat();
  return { file, inode: ino, size };
}

async function readFrom(file: FileHandle, offset: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of file.createReadStream({ start: offset, autoClose: false })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
