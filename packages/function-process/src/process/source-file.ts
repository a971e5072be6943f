// SPDX-License-Identifier: Apache-2.0
import { access, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readMounts, sourceOfMount } from "./mounts.ts";
import { isInside } from "./path-prefix.ts";

/** Where the source files of functions may lie. All paths are absolute. */
export interface SourceFolders {
  /** A source file lies in one of these, after all links are resolved. */
  readonly folders: readonly string[];
  /** It lies in none of these, even where they are inside one of the others: data directories, with unpacked images of packages. */
  readonly except: readonly string[];
}

/** The file to run, with all links resolved, or why it is not run. */
export type SourceFile = { readonly file: string } | { readonly problem: string };

const refusals: Readonly<Record<string, string>> = {
  ENOENT: "file not found",
  ENOTDIR: "file not found",
  ELOOP: "too many symbolic links",
  EACCES: "permission denied",
  ENAMETOOLONG: "the path is too long",
};

/** Finds the file that a path leads to, and refuses one that lies outside the folders. To be called before each start. */
export async function findSourceFile(path: string, { folders, except }: SourceFolders): Promise<SourceFile> {
  if (path.includes("\0")) return { problem: "the path contains a NUL character" };
  let file: string;
  try {
    file = await realpath(path);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    return { problem: refusals[code] ?? `cannot be read: ${code}` };
  }
  const roots = await existing(folders);
  if (!roots.some((root) => isInside(root, file))) return { problem: outside };
  if (await isInDataDirectory(file, await existing(except))) return { problem: unpacked };
  return (await stat(file)).isFile() ? { file } : { problem: "not a regular file" };
}

const outside = "outside the folders given to purlin up: move the file into one of them, or give a folder above both";
const unpacked = "inside a data directory, where images of packages are unpacked: move the file out of it";

/** The paths that exist, without links. */
async function existing(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => realpath(path).catch(() => undefined)));
  return found.filter((path) => path !== undefined);
}

/** Also through bind mounts, and where names differ in case only. */
async function isInDataDirectory(file: string, directories: readonly string[]): Promise<boolean> {
  if (directories.some((directory) => isInside(directory, file))) return true;
  const mounts = await readMounts();
  const source = sourceOfMount(mounts, file);
  if (directories.some((directory) => isInside(sourceOfMount(mounts, directory), source))) return true;
  const known = new Set(await Promise.all(directories.map(identityOf)));
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (known.has(await identityOf(folder)) || (await looksLikeDataDirectory(folder))) return true;
    if (folder === dirname(folder)) return false;
  }
}

async function identityOf(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  return `${dev}:${ino}`;
}

/** That of another control plane. */
async function looksLikeDataDirectory(folder: string): Promise<boolean> {
  const found = await Promise.allSettled(["kubeconfig", "roots"].map((name) => access(join(folder, name))));
  return found.every(({ status }) => status === "fulfilled");
}
