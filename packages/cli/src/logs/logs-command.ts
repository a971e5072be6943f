// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { type CommandInput, isSet, textOption } from "../commands/command-spec.ts";
import type { Io } from "../io.ts";
import { currentDataDir } from "../project/data-dir.ts";
import { UserError } from "../user-error.ts";
import { explainNoLogs, type WantedLogs, wantedLogs } from "./find-logs.ts";
import { createLogPrinter, type LogPrinter } from "./log-printer.ts";
import { type LogReader, lastLines, readLog } from "./log-reader.ts";

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
