// SPDX-License-Identifier: Apache-2.0

import { readdir, stat } from "node:fs/promises";
import { join, matchesGlob, resolve } from "node:path";
import { isPackageError, type PackageContents, parsePackage, type StreamPlace } from "@purlin/oci";
import { explain, readText } from "../files/read-text.ts";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";

/** A YAML file, under the name the user would write. */
interface YamlFile {
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

/** The `package.yaml` of a package. */
export interface PackageText {
  readonly text: string;
  readonly contents: PackageContents;
}

/** One stream of several files, and where each of its lines came from. */
interface Joined {
  readonly text: string;
  readonly place: StreamPlace;
}

/** Joins files to one stream of documents. `name` is what the whole is called. */
export function joinYaml(files: readonly YamlFile[], name: string): Joined {
  const starts: { readonly line: number; readonly name: string }[] = [];
  const parts: string[] = [];
  let line = 1;
  for (const file of files) {
    const body = file.text.replace(/^\uFEFF/, "").replace(/\n?$/, "\n");
    starts.push({ line, name: file.name });
    parts.push(`---\n${body}`);
    line += body.split("\n").length;
  }
  const place: StreamPlace = (at) => {
    const start = at === undefined ? undefined : starts.findLast((one) => one.line <= at);
    // The mark between files is on the line before the first of the file.
    return at === undefined || start === undefined ? name : `${start.name}:${Math.max(1, at - start.line)}`;
  };
  return { text: parts.join(""), place };
}

/** The package that the files of a folder make. What does not belong in it is an error. */
export async function packageText(files: readonly YamlFile[], folder: string): Promise<PackageText> {
  if (files.length === 0) {
    const file = "crossplane.yaml, with apiVersion meta.pkg.crossplane.io/v1, kind and metadata.name";
    throw new UserError(`${folder}: no files ending in .yaml or .yml found: a package needs ${file}`);
  }
  const { text, place } = joinYaml(files, folder);
  const contents = await parsePackage(text, place).catch((error: unknown) => {
    if (!isPackageError(error)) throw error;
    throw new UserError(`${error.message}: correct it, or leave a file out with --ignore`, { cause: error });
  });
  const [first, ...others] = contents.findings;
  if (first === undefined) return { text, contents };
  const more = others.length === 0 ? "" : `; and ${others.join("; ")}`;
  throw new UserError(`${first}${more}: move it elsewhere, or leave it out with --ignore`);
}
