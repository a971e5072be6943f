// SPDX-License-Identifier: Apache-2.0

import { textOf } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { operationOf, type RenderedOperation, renderOperation } from "@purlin/operations/render";
import { readClientCertificates } from "../function-call/client-certificates.ts";
import type { Io } from "../io.ts";
import type { Manifest } from "../manifests/manifest.ts";
import { type CommandInput, isSet, listOption } from "../options/command-spec.ts";
import { fetchersFor, printDocuments, resultDocuments, warn } from "../render/render-command.ts";
import { only, readContext, readInputs, readRenderCommand } from "../render/render-files.ts";
import { openFunctions } from "../render/render-functions.ts";
import { UserError } from "../user-error.ts";

/** `purlin operation render OPERATION [FUNCTIONS]` */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const [path = "", functionsPath = path] = input.args;
  const command = { ...readRenderCommand(input), functions: functionsPath };
  const isOperation = ({ object }: Manifest): boolean => object.apiVersion.startsWith("ops.crossplane.io/");
  const found = await readInputs([path], io);
  const manifest = only(found.some(isOperation) ? found.filter(isOperation) : found, path, "operation");
  const watched = await readWatched(input, io);
  const operation = operationFor(manifest, watched);
  const functions = functionsPath === path ? found : await readInputs([functionsPath], io);
  const required = [...(await readInputs(command.required, io)), ...(watched === undefined ? [] : [watched])];
  const credentials = await readInputs(command.credentials, io);
  const fetchers = await fetchersFor({ required }, command, io);
  await using opened = await openFunctions(
    {
      composition: { ...manifest, object: operation },
      functions: functions.filter(({ object }) => object.kind === "Function"),
      revisions: functions.filter(({ object }) => object.kind === "FunctionRevision"),
      annotations: command.annotations,
      certificates: readClientCertificates(input, io),
      fetchers,
      warn: (text) => warn(text, io),
    },
    io,
  );
  try {
    const rendered = await renderOperation(operation, {
      runStep: opened.runStep,
      fetchers,
      secrets: credentials.map(({ object }) => object),
      context: await readContext(input, io),
      timeoutMs: command.timeoutMs,
      signal: io.signal,
    });
    io.stdout.write(printDocuments(documentsOf(rendered, input)));
    return 0;
  } catch (error) {
    const { kind, metadata } = operation;
    throw new UserError(`cannot render ${kind} "${metadata.name ?? ""}": ${textOf(error)}`, { cause: error });
  }
}

async function readWatched(input: CommandInput, io: Io): Promise<Manifest | undefined> {
  const paths = listOption(input, "watchedResource");
  if (paths.length === 0) return undefined;
  const found = await readInputs(paths, io);
  const [watched] = found;
  if (found.length === 1) return watched;
  throw new UserError(`--watched-resource must contain exactly one resource, got ${found.length}`, { exitCode: 2 });
}

function operationFor(manifest: Manifest, watched: Manifest | undefined): Manifest["object"] {
  try {
    return operationOf(manifest.object, watched?.object);
  } catch (error) {
    throw new UserError(`${manifest.at(["kind"])}: ${textOf(error)}`, { cause: error });
  }
}

function documentsOf({ operation, resources, results, context }: RenderedOperation, input: CommandInput): JsonObject[] {
  const first = isSet(input, "includeFullOperation") ? operation.full : operation.short;
  const shown = isSet(input, "includeFunctionResults") ? results : [];
  const documents = [
    first,
    ...resources,
    ...resultDocuments(shown, isSet(input, "includeContext") ? context : undefined),
  ];
  return documents as JsonObject[];
}
