// SPDX-License-Identifier: Apache-2.0

import { randomUUID } from "node:crypto";
import { readdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { isJsonArray, isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { readTextIfThere } from "../files/read-text.ts";
import { makeFolder, whyNoFolder } from "../files/write-files.ts";
import type { Io } from "../io.ts";
import { type Manifest, readManifests } from "../manifests/manifest.ts";
import { isUserError, UserError } from "../user-error.ts";
import type { CustomKind } from "./custom-module.ts";
import { generateSchemas, generateTypes } from "./generate-types.ts";
import { type GeneratedFile, isGenerated, metaModule, schemaFile, sourcesKeyword } from "./generated-text.ts";
import { definesKinds, definitionKinds, functionInputs } from "./project-kinds.ts";

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
  return (await readManifests(paths, io, { stdin: true })).filter(definesKinds);
}

function shownPath(source: string, { cwd }: Pick<Io, "cwd">): string {
  return source === "-" ? source : relative(cwd, source) || ".";
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
