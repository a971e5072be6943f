// SPDX-License-Identifier: Apache-2.0
import { dirname, resolve } from "node:path";
import {
  createResourceFetcher,
  createSchemaFetcher,
  objectsReader,
  openAPIDocuments,
  type RequirementFetchers,
} from "@purlin/function-runner";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type ReadObjectsOptions, readObjects } from "../files/read-objects.ts";
import { readText } from "../files/read-text.ts";
import { parseYaml } from "../files/yaml-file.ts";
import { readOpenAPI } from "../function-call/requirement-files.ts";
import type { Io } from "../io.ts";
import { findManifests, type Manifest, prepare } from "../manifests/manifest.ts";
import { type CommandInput, isSet, listOption, readTimeout, textOption } from "../options/command-spec.ts";
import { textOf, UserError } from "../user-error.ts";

/** Everything a render reads, with where it was written. */
export interface RenderFiles {
  readonly xr: Manifest;
  readonly composition: Manifest;
  readonly definition: Manifest | undefined;
  readonly functions: readonly Manifest[];
  readonly revisions: readonly Manifest[];
  readonly observed: readonly Manifest[];
  readonly required: readonly Manifest[];
  readonly credentials: readonly Manifest[];
}

/** Reads and sorts all files. Throws a UserError with file and line of what is missing, broken or too many. */
export async function readRenderFiles(command: RenderCommand, io: Io): Promise<RenderFiles> {
  const xrs = await readInputs([command.xr], io);
  const compositions = await readInputs([command.composition], io);
  const functions = await readInputs([command.functions], io);
  const xrds = command.xrd === undefined ? [] : await readInputs([command.xrd], io);
  const all = [...xrds, ...xrs, ...compositions, ...functions];
  const kinds = compositeKinds(xrs, all);
  const composition = compositionIn(compositions.filter(isKind("Composition")), command.composition, kinds);
  const definition = definitionIn(command, composition, all);
  return {
    xr: compositeIn(xrs, command.xr, { composition, definition }),
    composition,
    definition,
    functions: functions.filter(isKind("Function")),
    revisions: functions.filter(isKind("FunctionRevision")),
    observed: await readInputs(command.observed, io, { nameless: true }),
    required: await readInputs(command.required, io),
    credentials: await readInputs(command.credentials, io),
  };
}

/** The documents that a render prints about itself, such as results, are left out. */
export async function readInputs(
  paths: readonly string[],
  io: Io,
  options: ReadObjectsOptions = {},
): Promise<Manifest[]> {
  const ignore = ({ apiVersion }: JsonObject): boolean => String(apiVersion).startsWith("render.crossplane.io/");
  const manifests: Manifest[] = [];
  for (const file of paths.length === 0 ? [] : await findManifests(paths, io)) {
    const folder = dirname(resolve(io.cwd, file));
    for (const { object, at } of await readObjects(file, io, { ...options, ignore })) {
      manifests.push({ object: prepare(object, folder), file, at });
    }
  }
  return manifests;
}

function isKind(kind: string): (manifest: Manifest) => boolean {
  return ({ object }) => object.kind === kind && /(^|\.)crossplane\.io\//.test(object.apiVersion);
}

/** The only one of several objects. Throws a UserError with file and line of a second one. */
export function only(manifests: readonly Manifest[], path: string, what: string): Manifest {
  const [first, second] = manifests;
  if (first === undefined) throw new UserError(`${path}: no ${what} found: check the path`);
  if (second !== undefined) {
    throw new UserError(
      `${second.at(["kind"])}: found a second ${what}; the first is at ${first.at(["kind"])}: specify a file with only one`,
    );
  }
  return first;
}

/** The kinds of what is rendered; for a claim, also the kind of the composite resources of its definition. */
function compositeKinds(xrs: readonly Manifest[], all: readonly Manifest[]): (string | undefined)[] {
  const claimed = all.filter(isKind("CompositeResourceDefinition")).filter(({ object }) => {
    const claim = kindIn(object, "claimNames");
    return claim !== undefined && xrs.some((xr) => xr.object.kind === claim);
  });
  return [...xrs.map(({ object }) => object.kind), ...claimed.map(({ object }) => kindIn(object, "names"))];
}

/** Of several Compositions the one for the kinds that are rendered. */
function compositionIn(
  compositions: readonly Manifest[],
  path: string,
  kinds: readonly (string | undefined)[],
): Manifest {
  const fitting = compositions.filter(({ object }) => kinds.includes(compositeTypeOf(object).kind));
  return only(fitting.length > 0 ? fitting : compositions, path, "Composition");
}

/** The definition of the Composition's kind, wherever it was found; the one asked for must be it. */
function definitionIn(
  { xrd }: RenderCommand,
  composition: Manifest,
  manifests: readonly Manifest[],
): Manifest | undefined {
  const type = compositeTypeOf(composition.object);
  const found = manifests
    .filter(isKind("CompositeResourceDefinition"))
    .find(({ object }) => groupOf(object) === type.apiVersion.split("/")[0] && kindIn(object, "names") === type.kind);
  if (found !== undefined || xrd === undefined) return found;
  throw new UserError(`${xrd}: it does not define ${type.kind} of ${type.apiVersion}, which the Composition is for`);
}

function compositeIn(
  manifests: readonly Manifest[],
  path: string,
  { composition, definition }: Pick<RenderFiles, "composition" | "definition">,
): Manifest {
  const ours = /^(apiextensions|pkg)\.crossplane\.io\//;
  const candidates = manifests.filter(({ object }) => !ours.test(object.apiVersion));
  if (candidates.length === 1 && candidates[0] !== undefined) return candidates[0];
  const kinds = [compositeTypeOf(composition.object).kind, definition && kindIn(definition.object, "claimNames")];
  const fitting = candidates.filter(({ object }) => kinds.includes(object.kind));
  return only(fitting, path, candidates.length === 0 ? "composite resource" : String(kinds[0]));
}

interface DefinitionSpec {
  readonly group?: string;
  readonly names?: { readonly kind?: string };
  readonly claimNames?: { readonly kind?: string };
}

function groupOf(object: KubeObject): string | undefined {
  return (object["spec"] as DefinitionSpec | undefined)?.group;
}

function kindIn(object: KubeObject, names: "names" | "claimNames"): string | undefined {
  return (object["spec"] as DefinitionSpec | undefined)?.[names]?.kind;
}

function compositeTypeOf(composition: KubeObject): { readonly apiVersion: string; readonly kind: string } {
  const spec = composition["spec"] as { compositeTypeRef?: { apiVersion?: string; kind?: string } } | undefined;
  const { apiVersion = "", kind = "" } = spec?.compositeTypeRef ?? {};
  return { apiVersion, kind };
}

/** The command line of `purlin render`, understood. */
export interface RenderCommand {
  readonly xr: string;
  readonly composition: string;
  readonly functions: string;
  readonly fullXr: boolean;
  readonly showResults: boolean;
  readonly showContext: boolean;
  readonly observed: readonly string[];
  readonly required: readonly string[];
  readonly schemas: readonly string[];
  readonly credentials: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly xrd: string | undefined;
  readonly timeoutMs: number;
}

/** Reads arguments and options. */
export function readRenderCommand(input: CommandInput): RenderCommand {
  const [xr = "", composition = "", functions = ""] = input.args;
  return {
    xr,
    composition,
    functions,
    fullXr: isSet(input, "includeFullXr"),
    showResults: isSet(input, "includeFunctionResults"),
    showContext: isSet(input, "includeContext"),
    observed: listOption(input, "observedResources"),
    required: [...listOption(input, "requiredResources"), ...listOption(input, "extraResources")],
    schemas: listOption(input, "requiredSchemas"),
    credentials: listOption(input, "functionCredentials"),
    annotations: Object.fromEntries(listOption(input, "functionAnnotations").map((text) => pair(text, "-a"))),
    xrd: textOption(input, "xrd"),
    timeoutMs: readTimeout(textOption(input, "timeout") ?? ""),
  };
}

/** The context before the first step, from files and from the command line. */
export async function readContext(input: CommandInput, io: Io): Promise<JsonObject> {
  const values: [string, JsonValue][] = [];
  for (const text of listOption(input, "contextFiles")) {
    const [key, file] = pair(text, "--context-files");
    values.push([key, contextValue(await readText(file, io, { what: "context file" }), file)]);
  }
  for (const text of listOption(input, "contextValues")) {
    const [key, value] = pair(text, "--context-values");
    values.push([key, contextValue(value, `--context-values ${key}`)]);
  }
  return Object.fromEntries(values);
}

function contextValue(text: string, where: string): JsonValue {
  const [document, second] = parseYaml(text, where);
  if (second !== undefined) throw new UserError(`${second.at()}: a second document starts here: expected one value`);
  return (document?.value ?? null) as JsonValue;
}

function pair(text: string, flag: string): [string, string] {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new UserError(`${flag}: expected key=value, not "${text}"`, { exitCode: 2 });
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
