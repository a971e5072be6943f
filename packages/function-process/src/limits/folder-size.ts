// SPDX-License-Identifier: Apache-2.0
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";

/** What an entry of a folder takes at least. */
const entryBytes = 1024;

/** The bytes that a folder takes on disk, counted until they exceed a limit. Links are not followed. */
export async function folderSize(path: string, limit: number): Promise<number> {
  let total = 0;
  const folders = [path];
  for (let at = folders.pop(); at !== undefined && total <= limit; at = folders.pop()) {
    const folder = at;
    const entries = await opendir(folder).catch(() => undefined);
    if (entries === undefined) continue;
    for await (const entry of entries) {
      const stats = await lstat(join(folder, entry.name)).catch(() => undefined);
      total += entryBytes + (stats?.blocks ?? 0) * 512;
      if (entry.isDirectory()) folders.push(join(folder, entry.name));
      if (total > limit) break;
    }
  }
  return total;
}
