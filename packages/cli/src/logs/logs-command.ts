// SPDX-License-Identifier: Apache-2.0

import { type FileHandle, open } from "node:fs/promises";
import { join, relative } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as delay } from "node:timers/promises";
import { type FunctionLog, functionLogFolder, listFunctionLogs } from "@purlin/function-process";
import type { Io, TextSink } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { currentDataDir } from "../project/data-dir.ts";
import { harmless } from "../terminal/harmless.ts";
import { UserError } from "../user-error.ts";

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

/** The last lines of a text, with their ends. */
export function lastLines(text: string, count: number): string {
  if (count === 0) return "";
  let from = text.endsWith("\n") ? text.length - 1 : text.length;
  for (let lines = 0; lines < count && from >= 0; lines++) from = from === 0 ? -1 : text.lastIndexOf("\n", from - 1);
  return text.slice(from + 1);
}

/** Whose logs are wanted. */
interface WantedLogs {
  /** The folder of the control plane, absolute. */
  readonly dataDir: string;
  readonly functionName: string;
  /** All revisions without it. */
  readonly revision: string | undefined;
}

/** Prints what several programs wrote. */
interface LogPrinter {
  print(source: string, text: string): void;
}

/** Polling interval of the files: a process that writes a lot must not wake readers at each write. */
const lookEveryMs = 200;

/** `purlin logs FUNCTION` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const [functionName = ""] = input.args;
  const wanted: WantedLogs = {
    dataDir: currentDataDir(input, io),
    functionName,
    revision: textOption(input, "revision"),
  };
  const tail = readTail(textOption(input, "tail"));
  const logs = await wantedLogs(wanted);
  if (logs.length === 0) return explainNoLogs(wanted, io);
  const printer = createLogPrinter(io.stdout, { several: logs.length > 1 });
  const readers = new Map<string, LogReader>();
  let isEmpty = true;
  for (const { revision, path } of logs) {
    const reader = readLog(path);
    readers.set(revision, reader);
    const text = await reader.next();
    isEmpty &&= text === "";
    printer.print(revision, tail === undefined ? text : lastLines(text, tail));
  }
  if (isEmpty) io.stderr.write(`no logs of function "${functionName}" yet\n`);
  if (isSet(input, "follow")) await follow(wanted, { readers, printer, io });
}

/** Goes on until the user stops it. Revisions that turn up meanwhile are followed as well. */
async function follow(
  wanted: WantedLogs,
  { readers, printer, io }: { readonly readers: Map<string, LogReader>; readonly printer: LogPrinter; readonly io: Io },
): Promise<void> {
  while (!io.signal.aborted) {
    for (const { revision, path } of await wantedLogs(wanted)) {
      const reader = readers.get(revision) ?? readLog(path);
      readers.set(revision, reader);
      printer.print(revision, await reader.next());
    }
    await delay(lookEveryMs, undefined, { signal: io.signal }).catch(() => {});
  }
}

function readTail(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UserError(`--tail: expected a number of lines such as 100, not "${text}"`, { exitCode: 2 });
}

/**
 * Prints texts; where there are several sources, or a second one turns up, a line before each says whose it is. On a terminal, control
 * characters are shown as escapes: functions are other people's code. Files and pipes get the bytes as they are, as from kubectl.
 */
export function createLogPrinter(sink: TextSink, options: { readonly several: boolean }): LogPrinter {
  let last: string | undefined;
  let atLineStart = true;
  return {
    print(source, text) {
      if (text === "") return;
      const isNamed = last === undefined ? options.several : source !== last;
      if (isNamed) sink.write(`${atLineStart ? "" : "\n"}${last === undefined ? "" : "\n"}==> ${source} <==\n`);
      last = source;
      sink.write(sink.isTTY ? harmless(text) : text);
      atLineStart = text.endsWith("\n");
    },
  };
}

/** The logs that are wanted, those written last coming last. */
async function wantedLogs({ dataDir, functionName, revision }: WantedLogs): Promise<readonly FunctionLog[]> {
  const all = await listFunctionLogs(join(dataDir, "functions", functionLogFolder));
  const own = all.filter((log) => log.functionName === functionName);
  return revision === undefined ? own : own.filter((log) => log.revision === revision);
}

/** Says why there are no logs, and which there are. */
async function explainNoLogs(wanted: WantedLogs, io: Io): Promise<never> {
  const { dataDir, functionName, revision } = wanted;
  const folder = relative(io.cwd, dataDir) || ".";
  const revisions = await wantedLogs({ ...wanted, revision: undefined });
  if (revision !== undefined && revisions.length > 0) {
    const names = listed(revisions.map((log) => log.revision));
    throw new UserError(
      `no logs of revision "${revision}" of function "${functionName}"; revisions with logs: ${names}`,
    );
  }
  const all = await listFunctionLogs(join(dataDir, "functions", functionLogFolder));
  if (all.length === 0) {
    const advice = "start a control plane with purlin up, or specify its folder with --data-dir";
    throw new UserError(`no function logs in ${folder}: ${advice}; on a cluster, use kubectl logs`);
  }
  const names = listed(all.map((log) => log.functionName));
  throw new UserError(`no logs of function "${functionName}" in ${folder}; functions with logs: ${names}`);
}

function listed(names: readonly string[]): string {
  return [...new Set(names)].toSorted().join(", ");
}
