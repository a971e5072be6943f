// SPDX-License-Identifier: Apache-2.0

import { join, relative } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type FunctionLog, functionLogFolder, listFunctionLogs } from "@purlin/function-process";
import { type CommandInput, isSet, textOption } from "../commands/command-spec.ts";
import type { Io, TextSink } from "../io.ts";
import { currentDataDir } from "../project/data-dir.ts";
import { harmless } from "../terminal/harmless.ts";
import { UserError } from "../user-error.ts";
import { type LogReader, lastLines, readLog } from "./log-reader.ts";

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

/** Files are looked at this often: a process that writes much is not told of each reader. */
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
  if (isEmpty) io.stderr.write(`${functionName} has written nothing yet\n`);
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
    throw new UserError(`revision "${revision}" of function "${functionName}" has not run here; these have: ${names}`);
  }
  const all = await listFunctionLogs(join(dataDir, "functions", functionLogFolder));
  if (all.length === 0) {
    const advice = "start a control plane with purlin up, or name its folder with --data-dir";
    throw new UserError(`no function has run in ${folder}: ${advice}; on a cluster use kubectl logs`);
  }
  const names = listed(all.map((log) => log.functionName));
  throw new UserError(`function "${functionName}" has not run in ${folder}; these have: ${names}`);
}

function listed(names: readonly string[]): string {
  return [...new Set(names)].toSorted().join(", ");
}
