// SPDX-License-Identifier: Apache-2.0
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { fromJson, inspector, isJsonObject, RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import { type InspectorReceiver, serveInspector } from "@purlin/function-runner";
import { printJson } from "@purlin/kube-objects/json";
import { InspectedRuns, openRunStore, type RunStore } from "@purlin/run-store";
import { readText } from "../files/read-text.ts";
import { harmlessJson, harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type CommandInput, listOption, textOption } from "../options/command-spec.ts";
import { printData, readOutput } from "../options/data-output.ts";
import { asInput, textOf, UserError } from "../user-error.ts";

/** A line of the file. */
type Line = Readonly<Record<string, unknown>>;

const batch = 200;
/** The messages of many runs are larger than files that people write. */
const maxBytes = 256 * 1024 * 1024;

/** `purlin runs import FILE --recorder-dir DIR`: records the messages of a pipeline inspector, one JSON object for each line. */
export async function importRuns(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["text", "json", "yaml"]);
  const [file = ""] = input.args;
  const text = await asInput(() => readText(file, io, { what: "file", maxBytes }));
  // What a file has is wanted, however old it is.
  using store = openImport(input, io, { bounds: { maxAgeMs: Number.POSITIVE_INFINITY } });
  let count = 0;
  const runs = new InspectedRuns((record) => {
    recordNow(store, record);
    if (++count % batch === 0) store.flush();
  });
  for (const { line, number } of filledLines(text)) {
    try {
      importLine(line, runs);
    } catch (error) {
      throw new UserError(`${file}:${number}: not a message of a pipeline inspector: ${textOf(error)}`, {
        cause: error,
        exitCode: 2,
      });
    }
  }
  runs.end();
  store.flush();
  refuseProblem(store);
  if (output !== "text")
    return printData({ apiVersion: "cli.purlin.dev/v1", kind: "ImportReport", recorded: count }, output, io);
  io.stdout.write(`${count} ${count === 1 ? "run" : "runs"} recorded\n`);
}

/** Records a run, after what waits is stored if that has too many bytes. */
function recordNow(store: RunStore, run: Parameters<RunStore["record"]>[0]): void {
  if (store.record(run)) return;
  store.flush();
  store.record(run);
}

/** The lines of a text that are not blank, with their numbers. Not all at once: a file may have nothing but line breaks. */
function* filledLines(text: string): Generator<{ readonly line: string; readonly number: number }> {
  for (let start = 0, number = 1; start < text.length; number++) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    const line = text.slice(start, end);
    if (line.trim() !== "") yield { line, number };
    start = end + 1;
  }
}

/** Adds the message of a line to the runs. Throws when it is not one of a pipeline inspector. */
export function importLine(text: string, runs: InspectedRuns): void {
  const line: unknown = JSON.parse(text);
  if (!isJsonObject(line as never)) throw new Error("expected a JSON object");
  const { meta: stepMeta, request, response, error = "" } = withoutEnvelope(line as Line);
  const meta = fromJson(inspector.StepMeta, stepMeta);
  if (request !== undefined) runs.request(meta, fromJson(RunFunctionRequest, messageOf(request)));
  else if (response === undefined || response === "") runs.response(meta, String(error));
  else runs.response(meta, fromJson(RunFunctionResponse, messageOf(response)));
}

/** The sidecar of Crossplane's inspector names the message in `type` and prints it in `payload`. */
function withoutEnvelope({ type, payload, ...line }: Line): Line {
  if (type === "REQUEST") return { ...line, request: payload };
  return type === "RESPONSE" ? { ...line, response: payload ?? undefined } : line;
}

/** The field is bytes that hold protobuf-JSON: base64 in the JSON form of the message, the object itself in logs. */
function messageOf(value: unknown): unknown {
  if (typeof value !== "string") return value;
  return JSON.parse(value.trimStart().startsWith("{") ? value : Buffer.from(value, "base64").toString());
}

/** A run of which nothing came for this long has ended. */
const quietMs = 5000;

/** `purlin runs listen --socket PATH --recorder-dir DIR`: records what a Crossplane sends to its pipeline inspector. */
export async function listen(input: CommandInput, io: Io): Promise<undefined> {
  const isJson = readOutput(input, ["text", "json"]) === "json";
  const line = (document: object, text: string): void => {
    io.stdout.write(isJson ? harmlessJson(`${printJson(document)}\n`) : `${text}\n`);
  };
  const socket = resolve(io.cwd, textOption(input, "socket") ?? "");
  if (statSync(socket, { throwIfNoEntry: false })?.isSocket() === false)
    throw new UserError(`--socket ${socket}: it exists and is not a socket: choose another path`, { exitCode: 2 });
  let stop = (): void => {};
  // A listener that records nothing must not look as if it did.
  using store = openImport(input, io, { onWarning: () => stop() });
  const runs = new InspectedRuns((record) => {
    recordNow(store, record);
    const { outcome, xr } = record;
    const { apiVersion, kind, metadata } = xr;
    const { name = "", namespace } = metadata;
    line(
      { recorded: { apiVersion, kind, ...(namespace !== undefined && { namespace }), name }, outcome },
      `recorded ${harmlessLine(`${kind}/${name}`)}: ${outcome}`,
    );
  });
  const receiver: InspectorReceiver = {
    request: (meta, request) => runs.request(meta, request),
    response: (meta, outcome) => runs.response(meta, outcome, Date.now()),
    invalid: (error) => io.stderr.write(`warning: a message cannot be read: ${harmlessLine(textOf(error))}\n`),
  };
  await using _server = await serveInspector(socket, receiver).catch((error: unknown) => {
    throw new UserError(`--socket ${socket}: cannot listen: ${textOf(error)}`, { cause: error });
  });
  line({ listening: socket }, `listening on ${socket}`);
  const timer = setInterval(() => runs.endBefore(Date.now() - quietMs), quietMs / 2);
  await new Promise<void>((end) => {
    stop = end;
    if (io.signal.aborted || store.stats.problem !== undefined) end();
    io.signal.addEventListener("abort", () => end(), { once: true });
  });
  clearInterval(timer);
  runs.end();
  store.flush();
  refuseProblem(store);
}

/** Throws a UserError if runs were lost because the store cannot be written to. */
function refuseProblem({ directory, stats: { problem } }: RunStore): void {
  if (problem === undefined) return;
  throw new UserError(`--recorder-dir ${directory}: runs were not recorded: ${problem}`);
}

/** The store of --recorder-dir, for writing. */
export function openImport(
  input: CommandInput,
  io: Io,
  options: Pick<Parameters<typeof openRunStore>[0], "bounds" | "onWarning"> = {},
): RunStore {
  const directory = resolve(io.cwd, textOption(input, "recorderDir") ?? "");
  const store = openRunStore({ directory, redact: listOption(input, "redact"), ...options });
  const { problem } = store.stats;
  if (problem === undefined) return store;
  throw new UserError(`--recorder-dir ${directory}: cannot record runs: ${problem}`);
}
