// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { textOf } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionOf, conditionsOf, type KubeObject, numberAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { operationOf, type RenderedOperation, renderOperation } from "@purlin/operations/render";
import { openCluster } from "../cluster/cluster-client.ts";
import { printDocuments, printYaml } from "../files/yaml-file.ts";
import { readClientCertificates } from "../function-call/probe-target.ts";
import { harmless, harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import type { Manifest } from "../manifests/manifest.ts";
import { type CommandInput, isSet, listOption, readTimeout, textOption } from "../options/command-spec.ts";
import { documentFormats, listText, printData, readOutput } from "../options/data-output.ts";
import { fetchersFor, only, readContext, readInputs, readRenderCommand } from "../render/render-files.ts";
import { openFunctions, resultDocuments, warn } from "../render/render-functions.ts";
import { UserError } from "../user-error.ts";
import { endOf, pollMs, unfinishedText } from "./operation-state.ts";

/** `purlin operation run FILE`: creates an Operation, waits for its end and shows the result. Exit code 1 when it failed. */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const [path = ""] = input.args;
  const timeoutMs = readTimeout(textOption(input, "timeout") ?? "");
  const output = readOutput(input, ["text", "json", "yaml"]);
  const manifest = only(await readInputs([path], io), path, "operation");
  const operation = newRun(manifest.object);
  await using cluster = await openCluster(input, io);
  const created = await cluster.client.create(operation, { signal: io.signal });
  const name = created.metadata.name ?? "";
  io.stderr.write(`Operation ${name} created\n`);
  const end = Date.now() + timeoutMs;
  let failures = 0;
  for (;;) {
    const found = await cluster.client.get(operation, { name }, { signal: io.signal });
    const count = numberAt(found, ["status", "failures"]);
    if (count > failures) {
      failures = count;
      io.stderr.write(
        `attempt ${count} failed: ${harmlessLine(conditionOf(conditionsOf(found), "Synced").message ?? "")}\n`,
      );
    }
    if (endOf(found) !== undefined)
      return show({ ...found, apiVersion: operation.apiVersion, kind: operation.kind }, output, io);
    if (Date.now() > end) {
      throw new UserError(`Operation ${name} has not ended after ${timeoutMs / 1000}s: ${unfinishedText(found)}`);
    }
    await delay(pollMs, undefined, { signal: io.signal });
  }
}

/** A new Operation for each run: one that is done never runs again. */
function newRun(object: KubeObject): KubeObject {
  try {
    const operation = operationOf(object);
    const name = `${operation.metadata.name ?? "operation"}-${randomBytes(3).toString("hex")}`;
    const { labels, annotations } = operation.metadata;
    const metadata = { name, ...(labels && { labels }), ...(annotations && { annotations }) };
    return { apiVersion: operation.apiVersion, kind: operation.kind, metadata, spec: operation["spec"] } as KubeObject;
  } catch (error) {
    throw new UserError(textOf(error), { cause: error });
  }
}

function show(operation: KubeObject, format: string, io: Io): number {
  const { status, message } = conditionOf(conditionsOf(operation), "Succeeded");
  if (format !== "text") {
    printData(operation, format, io);
    return status === "True" ? 0 : 1;
  }
  for (const { step, output } of objectsAt(operation, ["status", "pipeline"])) {
    io.stdout.write(
      `output of step ${harmlessLine(String(step))}:\n${printYaml(output ?? {}).replaceAll(/^(?=.)/gm, "  ")}`,
    );
  }
  for (const ref of objectsAt(operation, ["status", "appliedResourceRefs"])) {
    const namespace = stringAt(ref, ["namespace"]);
    const where = namespace === "" ? "" : ` in namespace ${namespace}`;
    io.stdout.write(harmless(`applied ${stringAt(ref, ["kind"])} ${stringAt(ref, ["name"])}${where}\n`));
  }
  io.stdout.write(status === "True" ? "succeeded\n" : `failed: ${harmlessLine(message ?? "")}\n`);
  return status === "True" ? 0 : 1;
}

/** `purlin operation render OPERATION [FUNCTIONS]` */
export async function render(input: CommandInput, io: Io): Promise<number> {
  const output = readOutput(input, documentFormats);
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
    const documents = documentsOf(rendered, input);
    io.stdout.write(output === "json" ? listText(documents) : printDocuments(documents));
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
