// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import { readdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { deriveCrds, storedDefinition } from "@purlin/composition";
import { isJsonArray, isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { dns1035LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import type { KubeObject } from "@purlin/kube-objects/object";
import { servedVersions } from "@purlin/kube-objects/openapi";
import { readTextIfThere } from "../files/read-text.ts";
import { makeFolder, whyNoFolder } from "../files/write-files.ts";
import { parseFieldPath } from "../files/yaml-position.ts";
import type { Io } from "../io.ts";
import { definitionProblems } from "../manifests/apply-problem.ts";
import { type Manifest, readManifests } from "../manifests/manifest.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { isCrd, isDefinition } from "../tree/defined-kinds.ts";
import { asInput, isUserError, textOf, UserError } from "../user-error.ts";
import type { CustomKind } from "./custom-module.ts";
import { generateSchemas, generateTypes } from "./generate-types.ts";
import { type GeneratedFile, isGenerated, metaModule, schemaFile, sourcesKeyword } from "./generated-text.ts";

/** The generated types of a project. */
export interface ProjectTypes {
  /** Absolute. */
  readonly folder: string;
  /** The folder as the user would write it. */
  readonly shown: string;
  /** Absolute paths of the files and folders with definitions. */
  readonly sources: readonly string[];
  /** Definitions from elsewhere; types with such are not refreshed by themselves. */
  readonly others?: readonly Manifest[];
  /** The kinds of input that functions take; those of packages in the cache unless given. */
  readonly inputs?: ReadonlyMap<string, readonly CustomKind[]>;
  /** Write the JSON Schemas and no types. */
  readonly onlySchemas?: boolean;
  /** Whether sources without any definition are an error: the user named them. */
  readonly mustDefine?: boolean;
}

/** Thrown when definitions cannot be used: what is wrong with them, a line each with file, line and column. */
export class DefinitionsError extends Error {
  override readonly name = "DefinitionsError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

/** Generates the types of all definitions, and writes what changed. Throws a {@link DefinitionsError} before anything is written. */
export async function writeProjectTypes(
  project: ProjectTypes,
  io: Io,
): Promise<WrittenTypes & { readonly kinds: number }> {
  const manifests = await readDefinitions(project, io);
  const { kinds, problems } = definitionKinds([...manifests, ...(project.others ?? [])]);
  if (problems.length > 0) throw new DefinitionsError(problems);
  if (kinds.length === 0 && project.mustDefine === true) {
    throw new UserError(
      `${project.sources.map((source) => shownPath(source, io)).join(", ")}: no XRD or CRD found: check the path`,
      { exitCode: 2 },
    );
  }
  const sources = project.others === undefined ? recorded(project) : undefined;
  const inputs = project.inputs ?? (await functionInputs(project, io));
  const generate = project.onlySchemas === true ? generateSchemas : generateTypes;
  const files = await generate(kinds, { sources, inputs });
  return { ...(await writeTypes(project.folder, project.shown, files)), kinds: kinds.length };
}

/** The XRDs and CRDs in the sources of a project. */
export async function readDefinitions({ sources }: Pick<ProjectTypes, "sources">, io: Io): Promise<Manifest[]> {
  const paths = sources.map((source) => shownPath(source, io));
  return (await asInput(() => readManifests(paths, io, { stdin: true }))).filter(definesKinds);
}

function shownPath(source: string, { cwd }: Pick<Io, "cwd">): string {
  if (source === "-") return source;
  const shown = relative(cwd, source) || ".";
  // What is elsewhere on the machine was hardly named by way of the root.
  return shown.length > source.length ? source : shown;
}

/** Sources seen from the folder, so that a project can be moved. */
function recorded({ folder, sources }: ProjectTypes): readonly string[] | undefined {
  if (sources.includes("-")) return undefined;
  return sources.map((source) => relative(folder, source).split(sep).join("/"));
}

/** The types that were generated into a folder; undefined where there are none, or none that can be refreshed. */
export async function findProjectTypes(folder: string, io: Pick<Io, "cwd">): Promise<ProjectTypes | undefined> {
  try {
    await readFile(join(folder, metaModule));
    const schema = JSON.parse(await readFile(join(folder, schemaFile), "utf8")) as JsonValue;
    const sources = isJsonObject(schema) ? schema[sourcesKeyword] : undefined;
    if (!isJsonArray(sources) || !sources.every((source) => typeof source === "string")) return undefined;
    const absolute = sources.map((source) => resolve(folder, source));
    return { folder, shown: relative(io.cwd, folder) || ".", sources: absolute };
  } catch {
    return undefined;
  }
}

/** What writing changed, by paths below the folder. */
export interface WrittenTypes {
  readonly written: readonly string[];
  readonly removed: readonly string[];
}

/**
 * Makes a folder hold these files: writes those that differ, and removes generated ones that are no longer among them. A file that was
 * not generated is never touched; where one is in the way, nothing is written. `shown` is the folder as the user would write it.
 */
export async function writeTypes(
  folder: string,
  shown: string,
  files: readonly GeneratedFile[],
): Promise<WrittenTypes> {
  const changed: GeneratedFile[] = [];
  for (const file of files) {
    const path = join(folder, file.path);
    const before = await readTextIfThere(path, join(shown, file.path));
    if (before === file.text) continue;
    if (before !== undefined && !isGenerated(before)) throw inTheWay(join(shown, file.path));
    changed.push(file);
  }
  const hasTypes = files.some(({ path }) => path.endsWith(".d.ts"));
  const stale = (await staleFiles(folder, shown, new Set(files.map(({ path }) => path)))).filter(
    (path) => hasTypes || !path.endsWith(".d.ts"),
  );
  try {
    for (const { path, text } of changed) await replace(join(folder, path), text);
    for (const path of stale) await remove(folder, path);
  } catch (error) {
    if (isUserError(error)) throw error;
    throw new UserError(`cannot write ${shown}: ${whyNoFolder(error)}`, { cause: error });
  }
  return { written: changed.map(({ path }) => path), removed: stale };
}

function inTheWay(path: string): UserError {
  return new UserError(`${path}: not generated by purlin types: move it away, or choose another folder with --out`);
}

/** Written beside and moved over: a compiler that watches the folder never reads half a file. */
async function replace(path: string, text: string): Promise<void> {
  await makeFolder(dirname(path));
  const partial = `${path}.${randomUUID().slice(0, 8)}`;
  try {
    await writeFile(partial, text, { flag: "wx" });
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

async function staleFiles(folder: string, shown: string, wanted: ReadonlySet<string>): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const stale: string[] = [];
  for (const entry of entries) {
    const file = relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/");
    if (!entry.isFile() || wanted.has(file) || !(file.endsWith(".d.ts") || file.endsWith(".schema.json"))) continue;
    const text = await readTextIfThere(join(folder, file), join(shown, file));
    if (text !== undefined && isGenerated(text)) stale.push(file);
  }
  return stale.sort();
}

async function remove(folder: string, path: string): Promise<void> {
  await rm(join(folder, path), { force: true });
  // The folder of the group, unless something else is in it.
  if (path.includes("/")) await rmdir(dirname(join(folder, path))).catch(() => undefined);
}

/** The kinds that manifests define, and what keeps others from being known, a line each with file, line and column. */
interface DefinitionKinds {
  readonly kinds: readonly CustomKind[];
  readonly problems: readonly string[];
}

/** Whether a manifest defines kinds. */
export function definesKinds({ object }: Manifest): boolean {
  return isDefinition(object) || isCrd(object);
}

/** The served versions of all kinds that XRDs and CRDs define: composite resources, claims and custom resources. */
export function definitionKinds(manifests: readonly Manifest[]): DefinitionKinds {
  const found = new Map<string, { readonly kind: CustomKind; readonly at: string }>();
  const problems: string[] = [];
  for (const manifest of manifests.filter(definesKinds)) {
    if (isDefinition(manifest.object)) problems.push(...definitionProblems(manifest));
    try {
      for (const kind of kindsOf(manifest.object)) {
        const key = `${kind.group}/${kind.version} ${kind.kind}`;
        const at = manifest.at(["spec", "names", "kind"]);
        const other = found.get(key);
        if (other === undefined) found.set(key, { kind, at });
        else problems.push(`${at}: spec.names.kind: ${key} is also defined at ${other.at}: remove one of them`);
      }
    } catch (error) {
      problems.push(problemLine(manifest, textOf(error)));
    }
  }
  return { kinds: [...found.values()].map(({ kind }) => kind), problems };
}

function kindsOf(object: KubeObject): CustomKind[] {
  const kinds = crdsOf(object).flatMap((crd) => servedVersions(crd));
  for (const kind of kinds) checkNames(kind);
  return kinds;
}

function crdsOf(object: KubeObject): readonly KubeObject[] {
  if (!isDefinition(object)) return [object];
  return deriveCrds(storedDefinition(object) ?? object, { functionRevisions: false });
}

/** Names become file names: what no API server accepts must not get that far. */
function checkNames({ group, version, kind }: CustomKind): void {
  const [groupProblem] = group.includes(".") ? dns1123SubdomainProblems(group) : ["must be a domain with a dot"];
  if (groupProblem !== undefined) throw new Error(`spec.group: ${groupProblem}`);
  const [versionProblem] = dns1035LabelProblems(version);
  if (versionProblem !== undefined) throw new Error(`spec.versions: name "${version}": ${versionProblem}`);
  const [kindProblem] = dns1035LabelProblems(kind.toLowerCase());
  if (kindProblem !== undefined) throw new Error(`spec.names.kind: ${kindProblem}`);
}

/** Errors about definitions say which field they mean; what comes before it names the CRD that would have been made. */
function problemLine(manifest: Manifest, text: string): string {
  const [field] = /\bspec(\.[\w-]+|\[\w+\])*(?=:)/.exec(text) ?? [];
  if (field === undefined) return `${manifest.at()}: ${text}: correct the definition`;
  const rest = text.slice(text.indexOf(field));
  return `${manifest.at(parseFieldPath(field))}: ${rest}: correct the definition`;
}

/** Where the packages of functions come from. */
interface InputSources {
  /** Absolute paths with Functions, and of package files. */
  readonly sources: readonly string[];
  readonly isFetching?: boolean;
  /** Called with each package whose inputs are unknown. */
  readonly onMissing?: (line: string) => void;
  readonly input?: CommandInput;
}

/** The kinds of input that Functions among manifests take, from their packages: files, the cache, or registries. */
export async function functionInputs(
  { sources, isFetching = false, onMissing = () => {}, input = { args: [], options: {} } }: InputSources,
  io: Io,
): Promise<ReadonlyMap<string, readonly CustomKind[]>> {
  const shown = sources.filter((source) => source !== "-").map((source) => shownPath(source, io));
  const files = shown.filter((path) => path.endsWith(".xpkg"));
  const named = shown.filter((path) => !path.endsWith(".xpkg"));
  const manifests = await asInput(() => readManifests(named, io));
  if (files.length === 0 && !manifests.some(isFunction)) return new Map();
  // Packages need an archive reader and a registry client: loaded only for projects that have functions.
  const { findPackages } = await import("../validate/packages.ts");
  const { packages, missing } = await findPackages(
    { files, manifests: manifests.filter(isFunction), isFetching },
    input,
    io,
  );
  for (const line of missing) onMissing(line);
  const found = packages
    .filter(({ kind }) => kind === "Function")
    .map(({ name, manifests: objects }): [string, CustomKind[]] => [
      name,
      inputKindsOf(objects.map(({ object }) => object)),
    ]);
  return new Map(found.filter(([, kinds]) => kinds.length > 0));
}

const isFunction = ({ object }: Manifest): boolean =>
  object.kind === "Function" && object.apiVersion.startsWith("pkg.crossplane.io/");

function inputKindsOf(objects: readonly KubeObject[]): CustomKind[] {
  return objects.filter(isCrd).flatMap((crd) => servedVersions(crd));
}
