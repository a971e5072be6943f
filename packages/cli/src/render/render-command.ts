// SPDX-License-Identifier: Apache-2.0
import { isRenderError, type RenderError, type Rendered, renderComposite } from "@purlin/composition/render";
import {
  createResourceFetcher,
  createSchemaFetcher,
  objectsReader,
  openAPIDocuments,
  type RequirementFetchers,
} from "@purlin/function-runner";
import { isJsonObject, type JsonObject, type JsonValue, sortedKeys } from "@purlin/kube-objects/json";
import { printYaml } from "../files/yaml-file.ts";
import { type ClientCertificates, readClientCertificates } from "../function-call/probe-target.ts";
import { readOpenAPI } from "../function-call/requirement-files.ts";
import type { Io } from "../io.ts";
import type { Manifest } from "../manifests/manifest.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import { createStyle } from "../terminal/style.ts";
import { textOf, UserError } from "../user-error.ts";
import {
  type RenderCommand,
  type RenderFiles,
  readContext,
  readRenderCommand,
  readRenderFiles,
} from "./render-files.ts";
import { openFunctions } from "./render-functions.ts";
import { selectionOf, stepsOf } from "./used-functions.ts";

/** What to print of a render. */
interface OutputOptions {
  readonly fullXr: boolean;
  readonly showResults: boolean;
  readonly showContext: boolean;
}

const apiVersion = "render.crossplane.io/v1beta1";

/** `purlin render`: everything is read and checked before the first function is called. */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const command = readRenderCommand(input);
  const files = await readRenderFiles(command, io);
  const context = await readContext(input, io);
  const certificates = readClientCertificates(input, io);
  const fetchers = await fetchersFor(files, command, io);
  const rendered = await render(files, command, { context, certificates, fetchers, io });
  const { failure, warnings } = rendered;
  if (failure !== undefined) {
    const { kind, metadata } = files.xr.object;
    throw new UserError(`cannot render ${kind} "${metadata.name ?? ""}": ${failure.message}`, { cause: failure });
  }
  for (const text of warnings) warn(`a cluster refuses this XR: ${text}`, io);
  io.stdout.write(printDocuments(renderedDocuments(rendered, command)));
  return 0;
}

/** Writes a warning to stderr. */
export function warn(text: string, io: Io): void {
  io.stderr.write(`${createStyle(io.stderr, io.env).faint("warning:")} ${harmlessLine(text)}\n`);
}

interface Surroundings {
  readonly context: Awaited<ReturnType<typeof readContext>>;
  readonly certificates: ClientCertificates | undefined;
  readonly fetchers: RequirementFetchers;
  readonly io: Io;
}

async function render(
  files: RenderFiles,
  command: RenderCommand,
  { context, certificates, fetchers, io }: Surroundings,
): Promise<Rendered> {
  const { annotations } = command;
  const inputs = { ...files, annotations, certificates, fetchers, warn: (text: string) => warn(text, io) };
  await using functions = await openFunctions(inputs, io);
  const objects = (manifests: readonly Manifest[]): Manifest["object"][] => manifests.map(({ object }) => object);
  try {
    return await renderComposite(
      {
        xr: files.xr.object,
        composition: files.composition.object,
        definition: files.definition?.object,
        observed: objects(files.observed),
      },
      {
        runStep: functions.runStep,
        fetchers,
        secrets: objects(files.credentials),
        context,
        timeoutMs: command.timeoutMs,
        functionRevisions: tellsRevisions(files),
        signal: io.signal,
      },
    );
  } catch (error) {
    throw isRenderError(error) ? located(error, files) : error;
  }
}

/** Where revisions are chosen, a control plane tells in the status which ran: it could not choose any without doing so. */
function tellsRevisions({ composition, revisions }: RenderFiles): boolean {
  return revisions.length > 0 && stepsOf(composition).some((step) => selectionOf(step) !== undefined);
}

/** Files answer what functions require; a kind without a file has no objects. Built-in kinds have their schemas. */
export async function fetchersFor(
  files: Pick<RenderFiles, "required">,
  command: Pick<RenderCommand, "schemas">,
  io: Io,
): Promise<RequirementFetchers> {
  const resources = createResourceFetcher(readerOf(files.required));
  const documents = (await Promise.all(command.schemas.map((path) => readOpenAPI(path, io)))).flat();
  return { resources, schema: createSchemaFetcher(openAPIDocuments({ documents })).schema };
}

function readerOf(manifests: readonly Manifest[]): ReturnType<typeof objectsReader> {
  try {
    return objectsReader(
      manifests.map(({ object }) => object),
      { unknownKinds: "empty" },
    );
  } catch (error) {
    throw new UserError(`--required-resources: ${textOf(error)}`, { cause: error });
  }
}

function located(error: RenderError, files: RenderFiles): UserError {
  const blamed = error.input === "observed" ? files.observed[error.index] : files[error.input];
  const where = blamed?.at(error.field);
  return new UserError(where === undefined ? error.message : `${where}: ${error.message}`, { cause: error });
}

/** The documents of a render: the XR, its resources, results, context. */
function renderedDocuments(rendered: Rendered, options: OutputOptions): readonly JsonObject[] {
  const { xr, resources, results, context } = rendered;
  const more = resultDocuments(options.showResults ? results : [], options.showContext ? context : undefined);
  return [options.fullXr ? xr.full : xr.short, ...resources, ...more] as JsonObject[];
}

/** The documents about a render itself: its results, and its context unless that is undefined. */
export function resultDocuments(results: Rendered["results"], context: JsonObject | undefined): readonly JsonObject[] {
  const documents: JsonObject[] = results.map(({ type, reason, message }) => ({
    ...{ apiVersion, kind: "Result", severity: type, reason, message },
  }));
  return context === undefined ? documents : [...documents, { apiVersion, kind: "Context", fields: context }];
}

/** Documents as YAML, each begun by a line of its own, members in the order of their names. */
export function printDocuments(documents: readonly JsonObject[]): string {
  return documents.map((document) => `---\n${printYaml(sorted(document))}`).join("");
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(sortedKeys(value).map((key) => [key, sorted(value[key] ?? null)]));
}
