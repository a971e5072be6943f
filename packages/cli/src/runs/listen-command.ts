// SPDX-License-Identifier: Apache-2.0

import { resolve } from "node:path";
import { type InspectorReceiver, serveInspector } from "@purlin/function-runner";
import { printJson } from "@purlin/kube-objects/json";
import { InspectedRuns, openRunStore, type RunStore } from "@purlin/run-store";
import type { Io } from "../io.ts";
import { type CommandInput, listOption, textOption } from "../options/command-spec.ts";
import { readOutput } from "../options/data-output.ts";
import { harmlessJson, harmlessLine } from "../terminal/harmless.ts";
import { textOf, UserError } from "../user-error.ts";

/** A run of which nothing came for this long has ended. */
const quietMs = 5000;

/** `purlin runs listen --socket PATH --recorder-dir DIR`: records what a Crossplane sends to its pipeline inspector. */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const isJson = readOutput(input, ["text", "json"]) === "json";
  const line = (document: object, text: string): void => {
    io.stdout.write(isJson ? harmlessJson(`${printJson(document)}\n`) : `${text}\n`);
  };
  const socket = resolve(io.cwd, textOption(input, "socket") ?? "");
  using store = openImport(input, io);
  const runs = new InspectedRuns((record) => {
    store.record(record);
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
    if (io.signal.aborted) end();
    io.signal.addEventListener("abort", () => end(), { once: true });
  });
  clearInterval(timer);
  runs.end();
}

/** The store of --recorder-dir, for writing. */
export function openImport(input: CommandInput, io: Io): RunStore {
  const directory = resolve(io.cwd, textOption(input, "recorderDir") ?? "");
  const store = openRunStore({ directory, redact: listOption(input, "redact") });
  const { problem } = store.stats;
  if (problem === undefined) return store;
  throw new UserError(`--recorder-dir ${directory}: cannot record runs: ${problem}`);
}
