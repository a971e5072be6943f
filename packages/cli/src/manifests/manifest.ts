// SPDX-License-Identifier: Apache-2.0

import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { type AwaitingWork, awaited, inTurns, sorting } from "@purlin/base";
import { developmentAnnotations } from "@purlin/function-runner";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, withMember } from "@purlin/kube-objects/object";
import { withoutNulls } from "@purlin/kube-objects/patch";
import { type ReadObjectsOptions, readObjects } from "../files/read-objects.ts";
import { explain, requireInside } from "../files/read-text.ts";
import type { PathSegment } from "../files/yaml-position.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { projectFileName } from "../project/project-file.ts";
import { UserError } from "../user-error.ts";
import { type IgnoreFile, ignoreFilesAbove, isEditorLock, isIgnored, readIgnoreFile } from "./ignore-file.ts";

/** An object from a file, ready to be applied. */
export interface Manifest {
  readonly object: KubeObject;
  /** As the user would write it. */
  readonly file: string;
  /** `file:line:column` of a field of the object. */
  at(path?: readonly PathSegment[]): string;
}

/** How manifests are read. */
export interface ReadManifestsOptions extends FindOptions, Pick<ReadObjectsOptions, "ignore" | "nameless"> {
  /** Members that are null stay, as in a file that is created or rendered. */
  readonly keepsNulls?: boolean;
  /** Called once with the files of folders that hold no manifest, if there are any. */
  readonly onSkipped?: (files: readonly string[]) => void;
  /** Called with each file before it is read. */
  readonly onFile?: (file: string) => Promise<void>;
}

/** What a package is made of: not an object of an API server. */
const packageMetadata = "meta.pkg.crossplane.io/";

/**
 * All objects in files and folders. In a folder, YAML that is not a manifest is skipped: files without apiVersion and kind, such as
 * Compose files and Helm values, kustomizations, and the metadata of packages. Throws a UserError with file and line of a manifest
 * that is not an object, and of anything in a file that is named.
 */
export async function readManifests(
  paths: readonly string[],
  io: Io,
  options: ReadManifestsOptions = {},
): Promise<Manifest[]> {
  const manifests: Manifest[] = [];
  const skipped: string[] = [];
  for (const file of await findManifests(paths, io, options)) {
    await options.onFile?.(file);
    const isNamed = paths.includes(file);
    const onForeign = isNamed ? {} : { onForeign: (one: string) => void skipped.push(one) };
    const found = await readObjects(file, io, { ...options, ...onForeign });
    const objects = found.filter(({ object }) => isNamed || !String(object["apiVersion"]).startsWith(packageMetadata));
    const folder = dirname(resolve(io.cwd, file));
    manifests.push(...objects.map(({ object, at }) => ({ object: prepare(object, folder, options), file, at })));
  }
  if (skipped.length > 0) options.onSkipped?.(skipped);
  return manifests;
}

/** One line about files that were skipped. */
export function skippedLine(files: readonly string[]): string {
  return `skipped ${listed(files)}: not a Kubernetes manifest (no apiVersion and kind); list such files in .purlinignore`;
}

/** File names for a line of output: a few of many. */
export function listed(files: readonly string[]): string {
  const most = 8;
  const more = files.length - most;
  return files.slice(0, most).map(harmlessLine).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/**
 * An object as it is sent. Members that are null are dropped, as kubectl's own apply does: `input:` with nothing but a
 * comment means no input. The source of a function is where it says, seen from the file that says so.
 */
export function prepare(
  object: JsonObject,
  folder: string,
  { keepsNulls = false }: Pick<ReadManifestsOptions, "keepsNulls"> = {},
): KubeObject {
  const prepared = keepsNulls ? object : (withoutNulls(object) as JsonObject);
  const metadata = prepared["metadata"] as JsonObject;
  const { annotations } = metadata;
  const source = isJsonObject(annotations) ? annotations[developmentAnnotations.source] : undefined;
  const whole = prepared as KubeObject;
  if (typeof source !== "string") return whole;
  return withMember(whole, ["metadata", "annotations", developmentAnnotations.source], resolve(folder, source));
}

const endings = [".yaml", ".yml"];
/** Files of `purlin test` and of xprin, which are not for an API server. */
const testName = /(\.test|(^|_)xprin)\.ya?ml$/;
/** Folders that hold nothing but golden files, where they are beside tests. */
export const goldenFolder: RegExp = /^goldens?$/;
/** What tools put beside manifests. */
const skipped = new Set(["node_modules"]);

/** Where manifests are, and what may be left out of it. */
interface FindOptions {
  /** Folders of this name below a path are left out: what is in there is applied by hand. */
  readonly except?: ReadonlySet<string>;
  /** Whether `-` stands for standard input: where it is read once. */
  readonly stdin?: boolean;
  /** Whether files of `purlin test` in folders count. */
  readonly tests?: boolean;
}

/**
 * The manifests that paths stand for, as the user would write them: a file is itself, a folder all YAML files in it and in
 * the folders below, by name. Hidden folders, node_modules, lock files of editors, purlin.yaml, tests with their golden files and what a
 * .purlinignore lists are left out. A folder without any is a mistake.
 */
export async function findManifests(paths: readonly string[], io: Io, options: FindOptions = {}): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) {
    const found = await filesAt(path, io, options);
    if (found.length === 0) {
      throw new UserError(`${path}: no files ending in ${endings.join(" or ")} found: check the path`);
    }
    for (const file of found) files.push(file);
  }
  // A file that is named beside its folder counts once.
  return [...new Map(files.map((file) => [resolve(io.cwd, file), file])).values()];
}

async function filesAt(path: string, io: Io, options: FindOptions): Promise<string[]> {
  if (path === "-" && options.stdin === true) return [path];
  try {
    const isFolder = (await stat(resolve(io.cwd, path))).isDirectory();
    if (!isFolder) return [path];
    const search = { root: path, io, options, files: [] };
    await inTurns(findBelow(path, search, await ignoreFilesAbove(resolve(io.cwd, path), io.cwd)));
    return search.files;
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`cannot read ${path}: ${explain(error)}`, { cause: error });
  }
}

interface Search {
  /** The folder that the user named. */
  readonly root: string;
  readonly io: Io;
  readonly options: FindOptions;
  /** What was found. */
  readonly files: string[];
}

function* findBelow(folder: string, search: Search, above: IgnoreFile | undefined): AwaitingWork<void> {
  const { root, io, options, files } = search;
  const ignored = yield* awaited(readIgnoreFile(resolve(io.cwd, folder), above));
  const entries = yield* awaited(readdir(resolve(io.cwd, folder), { withFileTypes: true }));
  const hasTests = options.tests !== true && entries.some(({ name }) => isTestFile(name));
  for (const entry of yield* sorting(entries, byName)) {
    const path = join(folder, entry.name);
    if (isEditorLock(entry.name)) continue;
    if (yield* isIgnored(ignored, resolve(io.cwd, path), entry.isDirectory())) continue;
    if (entry.isDirectory()) {
      const leftOut = entry.name.startsWith(".") || skipped.has(entry.name) || options.except?.has(entry.name) === true;
      const isGolden = hasTests && goldenFolder.test(entry.name);
      if (!leftOut && !isGolden) yield* findBelow(path, search, ignored);
    } else if (isManifest(entry.name, options)) {
      if (entry.isSymbolicLink()) yield requireInside(root, path, { io });
      files.push(path);
    }
  }
}

const byName = (a: Dirent, b: Dirent): number => (a.name < b.name ? -1 : 1);

function isManifest(name: string, { tests = false }: FindOptions): boolean {
  const isYaml = endings.some((ending) => name.endsWith(ending));
  return name !== projectFileName && isYaml && (tests || !isTestFile(name));
}

/** Whether a file has tests, by its name. */
export function isTestFile(path: string): boolean {
  return testName.test(basename(path));
}
