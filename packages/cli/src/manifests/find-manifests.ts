// SPDX-License-Identifier: Apache-2.0
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { explain } from "../files/read-text.ts";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";

const endings = [".yaml", ".yml"];
/** What tools put beside manifests, and nobody means to apply. */
const skipped = new Set(["node_modules"]);

/** Where manifests are, and what may be left out of it. */
export interface FindOptions {
  /** Folders of this name below a path are left out: what is in there is applied by hand. */
  readonly except?: ReadonlySet<string>;
  /** Whether `-` stands for standard input: where it is read once. */
  readonly stdin?: boolean;
}

/**
 * The manifests that paths stand for, as the user would write them: a file is itself, a folder all YAML files in it and in
 * the folders below, by name. Hidden folders and node_modules are left out. A folder without any is a mistake.
 */
export async function findManifests(paths: readonly string[], io: Io, options: FindOptions = {}): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) {
    const found = await filesAt(path, io, options);
    if (found.length === 0) {
      throw new UserError(`${path}: no file in there ends in ${endings.join(" or ")}: check the path`);
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
    return isFolder ? await filesBelow(path, io, options) : [path];
  } catch (error) {
    throw new UserError(`cannot read ${path}: ${explain(error)}`, { cause: error });
  }
}

async function filesBelow(folder: string, io: Io, options: FindOptions): Promise<string[]> {
  const entries = await readdir(resolve(io.cwd, folder), { withFileTypes: true });
  const files: string[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      const leftOut = entry.name.startsWith(".") || skipped.has(entry.name) || options.except?.has(entry.name) === true;
      if (!leftOut) files.push(...(await filesBelow(path, io, options)));
    } else if (endings.some((ending) => entry.name.endsWith(ending))) files.push(path);
  }
  return files;
}
