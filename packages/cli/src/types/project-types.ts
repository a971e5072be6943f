// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { isJsonArray, isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { Io } from "../io.ts";
import { type Manifest, readManifests } from "../manifests/manifest.ts";
import { UserError } from "../user-error.ts";
import { definesKinds, definitionKinds } from "./definition-kinds.ts";
import { generateTypes } from "./generate-types.ts";
import { metaModule, schemaFile, sourcesKeyword } from "./generated-file.ts";
import { type WrittenTypes, writeTypes } from "./write-types.ts";

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
  const files = await generateTypes(kinds, project.others === undefined ? recorded(project) : undefined);
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
