// SPDX-License-Identifier: Apache-2.0

import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, matchesGlob, relative, resolve, sep } from "node:path";
import { developmentAnnotations } from "@purlin/function-runner";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, withMember } from "@purlin/kube-objects/object";
import { withoutNulls } from "@purlin/kube-objects/patch";
import { type ReadObjectsOptions, readObjects } from "../files/read-objects.ts";
import { explain, readTextIfThere, requireInside } from "../files/read-text.ts";
import type { PathSegment } from "../files/yaml-position.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { projectFileName } from "../project/project-file.ts";
import { UserError } from "../user-error.ts";

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

/** The file that lists what is not a manifest. */
const ignoreFileName = ".purlinignore";

/** Whether a file or folder is left out. `path` is absolute. */
type Ignores = (path: string, isFolder: boolean) => boolean;

/** One line of an ignore file. */
interface IgnoreRule {
  /** Where the ignore file is. */
  readonly folder: string;
  readonly glob: string;
  readonly foldersOnly: boolean;
  readonly isNegated: boolean;
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
 * the folders below, by name. Hidden folders, node_modules, purlin.yaml, tests with their golden files and what a .purlinignore lists are
 * left out. A folder without any is a mistake.
 */
export async function findManifests(paths: readonly string[], io: Io, options: FindOptions = {}): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) {
    const found = await filesAt(path, io, options);
    if (found.length === 0) {
      throw new UserError(`${path}: no files ending in ${endings.join(" or ")} found: check the path`);
    }
    files.push(...found);
  }
  // A file that is named beside its folder counts once.
  return [...new Map(files.map((file) => [resolve(io.cwd, file), file])).values()];
}

async function filesAt(path: string, io: Io, options: FindOptions): Promise<string[]> {
  if (path === "-" && options.stdin === true) return [path];
  try {
    const isFolder = (await stat(resolve(io.cwd, path))).isDirectory();
    if (!isFolder) return [path];
    return await filesBelow(path, { root: path, io, options, rules: await rulesAbove(resolve(io.cwd, path), io.cwd) });
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`cannot read ${path}: ${explain(error)}`, { cause: error });
  }
}

/** The rules of the folders from the working directory down to the parent of a folder; none outside of it. */
async function rulesAbove(folder: string, cwd: string): Promise<readonly IgnoreRule[]> {
  const below = relative(cwd, folder).split(sep);
  if (below[0] === "..") return [];
  let rules: readonly IgnoreRule[] = [];
  for (let depth = 0; depth < below.length; depth++) {
    const above = resolve(cwd, ...below.slice(0, depth));
    if (above !== folder) rules = await readIgnoreFile(above, rules);
  }
  return rules;
}

interface Search {
  /** The folder that the user named. */
  readonly root: string;
  readonly io: Io;
  readonly options: FindOptions;
  readonly rules: readonly IgnoreRule[];
}

async function filesBelow(folder: string, { root, io, options, rules: above }: Search): Promise<string[]> {
  const rules = await readIgnoreFile(resolve(io.cwd, folder), above);
  const isIgnored = ignoring(rules);
  const entries = await readdir(resolve(io.cwd, folder), { withFileTypes: true });
  const hasTests = options.tests !== true && entries.some(({ name }) => isTestFile(name));
  const files: string[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (isIgnored(resolve(io.cwd, path), entry.isDirectory())) continue;
    if (entry.isDirectory()) {
      const leftOut = entry.name.startsWith(".") || skipped.has(entry.name) || options.except?.has(entry.name) === true;
      const isGolden = hasTests && goldenFolder.test(entry.name);
      if (!leftOut && !isGolden) files.push(...(await filesBelow(path, { root, io, options, rules })));
    } else if (isManifest(entry.name, options)) {
      if (entry.isSymbolicLink()) await requireInside(root, path, io);
      files.push(path);
    }
  }
  return files;
}

function isManifest(name: string, { tests = false }: FindOptions): boolean {
  const isYaml = endings.some((ending) => name.endsWith(ending));
  return name !== projectFileName && isYaml && (tests || !isTestFile(name));
}

/** Whether a file has tests, by its name. */
export function isTestFile(path: string): boolean {
  return testName.test(basename(path));
}

/** The rules of the folders above, followed by those of the ignore file in this folder. */
async function readIgnoreFile(folder: string, above: readonly IgnoreRule[]): Promise<readonly IgnoreRule[]> {
  const file = join(folder, ignoreFileName);
  const text = (await readTextIfThere(file, file)) ?? "";
  const lines = text.split("\n").map((line) => line.trim());
  const rules = lines.filter((line) => line !== "" && !line.startsWith("#")).map((line) => ruleOf(line, folder));
  return rules.length === 0 ? above : [...above, ...rules];
}

/** As in a .gitignore: a pattern with a slash is seen from its folder, one without matches at any depth; the last match decides. */
function ruleOf(line: string, folder: string): IgnoreRule {
  const isNegated = line.startsWith("!");
  const written = isNegated ? line.slice(1) : line;
  const foldersOnly = written.endsWith("/");
  const pattern = foldersOnly ? written.slice(0, -1) : written;
  const glob = pattern.includes("/") ? pattern.replace(/^\//, "") : `**/${pattern}`;
  return { folder, glob, foldersOnly, isNegated };
}

/** Applies rules to files and folders. */
function ignoring(rules: readonly IgnoreRule[]): Ignores {
  return (path, isFolder) => {
    const last = rules.findLast((rule) => (isFolder || !rule.foldersOnly) && matches(rule, path));
    return last !== undefined && !last.isNegated;
  };
}

function matches({ folder, glob }: IgnoreRule, path: string): boolean {
  const inside = relative(folder, path).split(sep).join("/");
  return !inside.startsWith("..") && matchesGlob(inside, glob);
}
