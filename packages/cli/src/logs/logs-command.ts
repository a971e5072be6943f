// SPDX-License-Identifier: Apache-2.0

import { join, relative } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type FunctionLog, functionLogFolder, listFunctionLogs } from "@purlin/function-process";
import { harmless } from "../harmless.ts";
import type { Io, TextSink } from "../io.ts";
import { type CommandInput, isSet, parseDuration, textOption } from "../options/command-spec.ts";
import { currentDataDir } from "../project/project-file.ts";
import { UserError } from "../user-error.ts";
import { type LogLine, type LogReader, printMerged, readLog } from "./merged-logs.ts";

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

/** `purlin logs [FUNCTION…]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const [functionName = ""] = input.args;
  if (input.args.length !== 1 || needsLines.some((name) => input.options[name] !== undefined)) {
    return await runMerged(input, io);
  }
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

/** Options that look into lines, and so cannot print them as they come. */
const needsLines = ["since", "xr", "output", "selector"];

/** Lines of several functions, or some lines of one, in the order of their times. */
async function runMerged(input: CommandInput, io: Io): Promise<undefined> {
  const shown = {
    isWanted: lineFilter(input),
    tail: readTail(textOption(input, "tail")),
    isFollowing: isSet(input, "follow"),
    isJson: isJsonOutput(textOption(input, "output")),
  };
  const dataDir = currentDataDir(input, io);
  const revision = textOption(input, "revision");
  const names = await namesOf(input, io);
  const list = async (): Promise<readonly FunctionLog[]> => {
    const all = await listFunctionLogs(join(dataDir, "functions", functionLogFolder));
    const own = all.filter((log) => names === undefined || names.includes(log.functionName));
    return revision === undefined ? own : own.filter((log) => log.revision === revision);
  };
  const found = await list();
  for (const functionName of names ?? (found.length === 0 ? [""] : [])) {
    const isThere = found.some((log) => log.functionName === functionName);
    if (!isThere) await explainNoLogs({ dataDir, functionName, revision }, io);
  }
  const hasLines = await printMerged({ list, ...shown }, io);
  if (!hasLines && !io.signal.aborted) io.stderr.write("no log lines found\n");
}

function isJsonOutput(output: string | undefined): boolean {
  if (output === undefined || output === "text" || output === "json") return output === "json";
  throw new UserError(`--output ${output}: expected text or json`, { exitCode: 2 });
}

/** The functions of the command line, or those with the labels of --selector; undefined for all. */
async function namesOf(input: CommandInput, io: Io): Promise<readonly string[] | undefined> {
  const labelSelector = textOption(input, "selector");
  if (labelSelector === undefined) return input.args.length === 0 ? undefined : input.args;
  const { openCluster } = await import("../cluster/cluster-client.ts");
  await using cluster = await openCluster(input, io);
  const type = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
  const { items } = await cluster.client.list(type, { labelSelector, signal: io.signal });
  const names = items.flatMap(({ metadata }) => metadata.name ?? []);
  if (names.length === 0) throw new UserError(`--selector ${labelSelector}: no Function has these labels`);
  return names;
}

function lineFilter(input: CommandInput): (line: LogLine) => boolean {
  const text = textOption(input, "since");
  const ms = text === undefined ? undefined : parseDuration(text);
  if (text !== undefined && ms === undefined) {
    throw new UserError(`--since: expected a duration such as 30m or 1h, not "${text}"`, { exitCode: 2 });
  }
  const since = ms === undefined ? undefined : Date.now() - ms;
  const xr = textOption(input, "xr")?.toLowerCase();
  return (line) =>
    (since === undefined || (line.time ?? 0) >= since) && (xr === undefined || line.xr?.toLowerCase() === xr);
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
  if (functionName === "" && revision !== undefined) {
    const names = listed(all.map((log) => log.revision));
    throw new UserError(`no logs of revision "${revision}" in ${folder}; revisions with logs: ${names}`);
  }
  const names = listed(all.map((log) => log.functionName));
  throw new UserError(`no logs of function "${functionName}" in ${folder}; functions with logs: ${names}`);
}

function listed(names: readonly string[]): string {
  return [...new Set(names)].toSorted().join(", ");
}
