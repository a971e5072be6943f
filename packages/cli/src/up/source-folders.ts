// SPDX-License-Identifier: Apache-2.0
import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { SourceFolders } from "@purlin/function-process";
import type { UpOptions } from "./up-options.ts";

/** The file of a data directory with the folders that the last command line named. */
const fileName = "folders.json";

/**
 * Where the source files of Functions may lie: in the folders of the command line, or in those of the last one that named any. A file
 * stands for its folder. The data directory with its unpacked images is left out.
 */
export async function sourceFolders(
  { paths, directory }: Pick<UpOptions, "paths" | "directory">,
  cwd: string,
): Promise<SourceFolders> {
  const file = join(directory, fileName);
  const known = await readFolders(file);
  if (paths.length === 0) return { folders: known, except: [directory] };
  const folders = [...new Set(await Promise.all(paths.map((path) => folderOf(resolve(cwd, path)))))];
  if (JSON.stringify(folders) !== JSON.stringify(known)) await writeFolders(file, folders);
  return { folders, except: [directory] };
}

async function folderOf(path: string): Promise<string> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isFolder ? path : dirname(path);
}

async function readFolders(file: string): Promise<readonly string[]> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  } catch {
    // Missing or damaged: the next command line that names folders writes it again.
    return [];
  }
}

async function writeFolders(file: string, folders: readonly string[]): Promise<void> {
  await writeFile(`${file}.new`, `${JSON.stringify(folders)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
