// SPDX-License-Identifier: Apache-2.0
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { BackupFile } from "./backup-archive.ts";

/** Files of a data directory that a backup holds, beside the store. */
const keptFiles = ["port", "applied.json", "folders.json"];

/** Folders that a backup holds. Unpacked images, logs, sockets and the certificates of function processes are made again at the next start. */
const keptFolders = ["pki", "function-client", "registry", "images"];

/** Transfers in progress. */
const leftOut: ReadonlySet<string> = new Set(["registry/partial", "registry/uploads", "images/partial"]);

/** The files of a data directory that a backup holds, beside the store, in a stable order. */
export async function backupFiles(directory: string): Promise<BackupFile[]> {
  const files: BackupFile[] = [];
  for (const name of keptFiles) {
    const path = join(directory, name);
    if ((await stat(path).catch(() => undefined))?.isFile()) files.push({ name, path });
  }
  for (const name of keptFolders) files.push(...(await filesBelow(directory, name)));
  return files;
}

async function filesBelow(directory: string, folder: string): Promise<BackupFile[]> {
  if (leftOut.has(folder)) return [];
  const entries = await readdir(join(directory, folder), { withFileTypes: true }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  });
  const files: BackupFile[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = `${folder}/${entry.name}`;
    if (entry.isDirectory()) files.push(...(await filesBelow(directory, name)));
    else if (entry.isFile() && !entry.name.endsWith(".partial")) files.push({ name, path: join(directory, name) });
  }
  return files;
}
