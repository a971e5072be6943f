// SPDX-License-Identifier: Apache-2.0
import { isRenderError, type RenderError, type Rendered, renderComposite } from "@purlin/composition/render";
import type { RequirementFetchers } from "@purlin/function-runner";
import type { JsonObject } from "@purlin/kube-objects/json";
import { printDocuments } from "../files/yaml-file.ts";
import { type ClientCertificates, readClientCertificates } from "../function-call/probe-target.ts";
import type { Io } from "../io.ts";
import type { Manifest } from "../manifests/manifest.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { documentFormats, listText, readOutput } from "../options/data-output.ts";
import { UserError } from "../user-error.ts";
import {
  fetchersFor,
  type RenderCommand,
  type RenderFiles,
  readContext,
  readRenderCommand,
  readRenderFiles,
} from "./render-files.ts";
import { openFunctions, resultDocuments, warn } from "./render-functions.ts";
import { selectionOf, stepsOf } from "./used-functions.ts";

/** What to print of a render. */
interface OutputOptions {
  readonly fullXr: boolean;
  readonly showResults: boolean;
  readonly showContext: boolean;
}

/** `purlin render`: everything is read and checked before the first function is called. */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const output = readOutput(input, documentFormats);
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
  const documents = renderedDocuments(rendered, command);
  io.stdout.write(output === "json" ? listText(documents) : printDocuments(documents));
  return 0;
}

interface RenderDeps {
  readonly context: Awaited<ReturnType<typeof readContext>>;
  readonly certificates: ClientCertificates | undefined;
  readonly fetchers: RequirementFetchers;
  readonly io: Io;
}

async function render(
  files: RenderFiles,
  command: RenderCommand,
  { context, certificates, fetchers, io }: RenderDeps,
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

/** Where revisions are chosen, a control plane writes to the status which ran; choosing depends on it. */
function tellsRevisions({ composition, revisions }: RenderFiles): boolean {
  return revisions.length > 0 && stepsOf(composition).some((step) => selectionOf(step) !== undefined);
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
