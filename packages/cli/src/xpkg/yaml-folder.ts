// SPDX-License-Identifier: Apache-2.0
import { readdir, stat } from "node:fs/promises";
import { join, matchesGlob, resolve } from "node:path";
import { explain, readText } from "../files/read-text.ts";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";

/** A YAML file, under the name the user would write. */
export interface YamlFile {
  readonly name: string;
  readonly text: string;
}

/** What is left out of a folder. */
interface YamlFolderOptions {
  /** Seen from the folder. */
  readonly ignore?: readonly string[];
  /** Absolute paths of folders that are something else. */
  readonly except?: ReadonlySet<string>;
}

const endings = [".yaml", ".yml"];

/**
 * The YAML files in a folder and the folders below that are not empty, in an order that is the same everywhere. Links are not
 * followed: what they lead to is not the author's. Hidden folders and node_modules are left out.
 */
export async function readYamlFolder(folder: string, io: Io, options: YamlFolderOptions = {}): Promise<YamlFile[]> {
  try {
    if (!(await stat(resolve(io.cwd, folder))).isDirectory()) throw new UserError(`${folder}: expected a folder`);
    const names = await namesBelow(resolve(io.cwd, folder), "", options);
    const files: YamlFile[] = [];
    for (const each of names) {
      const name = join(folder, each);
      const text = await readText(name, io, { what: "file" });
      if (text.trim() !== "") files.push({ name, text });
    }
    return files;
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`cannot read ${folder}: ${explain(error)}`, { cause: error });
  }
}

async function namesBelow(root: string, prefix: string, options: YamlFolderOptions): Promise<string[]> {
  const { ignore = [], except } = options;
  const entries = await readdir(join(root, prefix), { withFileTypes: true });
  const names: string[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = `${prefix}${entry.name}`;
    if (ignore.some((glob) => matchesGlob(name, glob)) || except?.has(join(root, name))) continue;
    if (entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules") {
      names.push(...(await namesBelow(root, `${name}/`, options)));
    } else if (entry.isFile() && endings.some((ending) => name.endsWith(ending))) names.push(name);
  }
  return names;
}
