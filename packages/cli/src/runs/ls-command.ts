// SPDX-License-Identifier: Apache-2.0

import { findStatusError } from "@purlin/kube-objects/errors";
import { humanDuration } from "@purlin/kube-objects/object";
import type { RunFilter, RunSummary } from "@purlin/run-store";
import { harmlessJson, harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, parseDuration, textOption } from "../options/command-spec.ts";
import { printData, readOutput } from "../options/data-output.ts";
import { formatTable, growingTable } from "../terminal/screen.ts";
import { textOf, UserError } from "../user-error.ts";
import { openRuns } from "./runs-source.ts";

/** The columns of a list of runs. */
export const runColumns: readonly string[] = [
  "RUN",
  "AGE",
  "XR",
  "REV",
  "CAUSE",
  "STEPS",
  "WRITES",
  "DURATION",
  "OUTCOME",
];

/** `purlin runs ls [TYPE/NAME]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["table", "json", "yaml"]);
  const since = readSince(input);
  await using runs = await openRuns(input, io);
  const filter = { ...(await runs.filterFor(input.args)), ...readFilter(input), sinceMs: since };
  const found = await runs.list(filter);
  if (output !== "table") return printData({ items: found }, output, io);
  if (found.length === 0) io.stderr.write("No runs found.\n");
  else io.stdout.write(`${formatTable([runColumns, ...found.map((one) => runRow(one, Date.now()))])}\n`);
}

const pollMs = 1000;

/**
 * `purlin runs follow [TYPE/NAME]`: prints each run when it is recorded, until Ctrl-C; with -o json a document in each line. A control
 * plane that cannot be reached for a while is asked again.
 */
export async function follow(input: CommandInput, io: Io): Promise<undefined> {
  const isJson = readOutput(input, ["table", "json"]) === "json";
  await using runs = await openRuns(input, io);
  const filter = { ...(await runs.filterFor(input.args)), ...readFilter(input) };
  const append = growingTable();
  const print = (found: readonly RunSummary[]): string =>
    isJson
      ? harmlessJson(found.map((one) => `${JSON.stringify(one)}\n`).join(""))
      : append(found.map((one) => runRow(one, Date.now())));
  if (!isJson) io.stdout.write(append([runColumns]));
  let [after] = (await runs.list({ ...filter, limit: 1 })).map(({ id }) => id);
  let isAway = false;
  while (!io.signal.aborted) {
    try {
      const news = await runs.list({ ...filter, after });
      isAway = false;
      io.stdout.write(print(news.toReversed()));
      after = news[0]?.id ?? after;
    } catch (error) {
      if (io.signal.aborted || !isPassing(error)) throw error;
      if (!isAway) io.stderr.write(`warning: cannot read runs: ${harmlessLine(textOf(error))}: trying again\n`);
      isAway = true;
    }
    await pause(pollMs, io.signal);
  }
}

/** Whether a control plane is asked again: it stops, starts or is overloaded. */
function isPassing(error: unknown): boolean {
  const status = findStatusError(error)?.status.code;
  if (status !== undefined) return status >= 500 || status === 429;
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  // Those of the system, such as ECONNREFUSED.
  return typeof code === "string" && /^E[A-Z]+$/.test(code);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, ms);
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    }
    signal.addEventListener("abort", end, { once: true });
  });
}

/** A run as a row. */
export function runRow(run: RunSummary, now: number): string[] {
  const { xr, outcome, repeats } = run;
  const place = xr.namespace === undefined ? "" : `${xr.namespace}/`;
  return [
    run.id,
    humanDuration(Math.max(0, now - Date.parse(run.last))),
    harmlessLine(`${xr.kind}/${place}${xr.name}`),
    harmlessLine(run.compositionRevision || "-"),
    harmlessLine(run.cause),
    String(run.steps.length),
    String(run.writes),
    `${Math.round(run.durationMs)}ms`,
    repeats === 0 ? outcome : `${outcome} (×${repeats + 1})`,
  ];
}

function readFilter(input: CommandInput): RunFilter {
  return { failed: isSet(input, "failed"), step: textOption(input, "step") };
}

function readSince(input: CommandInput): number | undefined {
  const text = textOption(input, "since");
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms === undefined) {
    throw new UserError(`--since: expected a duration such as 30m or 1h, not "${text}"`, { exitCode: 2 });
  }
  return Date.now() - ms;
}
