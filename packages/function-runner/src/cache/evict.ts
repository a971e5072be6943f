// SPDX-License-Identifier: Apache-2.0
import { readdir, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isMissing, readDeadline, temporaryPrefix } from "./cache-file.ts";

/** A file that has been "being written" for longer was left by a process that died. */
const abandonedMs = 10 * 60_000;
/** When there is too much, room is made for a while. */
const refill = 0.8;

/** What an eviction goes by. */
interface EvictionOptions {
  readonly directory: string;
  readonly now: number;
  readonly maxBytes: number;
  readonly onDeleted: (directoryName: string, bytes: number) => void;
  readonly onProblem: (directoryName: string, path: string, error: unknown) => void;
}

interface CachedFile {
  readonly path: string;
  readonly owner: string;
  readonly bytes: number;
  /** When it may be deleted. */
  readonly deadline: number;
}

/**
 * Deletes expired responses, what a crash left behind and empty directories; when more than `maxBytes` remain, also those
 * that would expire next. Answers with the bytes that remain. Files it cannot read are left where they are.
 */
export async function evict(options: EvictionOptions): Promise<number> {
  const files = await findFiles(options);
  const expired = files.filter(({ deadline }) => deadline < options.now);
  const alive = files.filter(({ deadline }) => deadline >= options.now);
  for (const file of expired) await remove(file, options);
  let bytes = alive.reduce((total, file) => total + file.bytes, 0);
  if (bytes <= options.maxBytes) return bytes;
  for (const file of alive.sort((a, b) => a.deadline - b.deadline)) {
    if (bytes <= options.maxBytes * refill) break;
    await remove(file, options);
    bytes -= file.bytes;
  }
  return bytes;
}

async function findFiles(options: EvictionOptions): Promise<CachedFile[]> {
  const files: CachedFile[] = [];
  for (const owner of await namesIn(options.directory)) {
    const directory = join(options.directory, owner);
    const names = await namesIn(directory).catch((error: unknown) => {
      options.onProblem(owner, directory, error);
      return undefined;
    });
    // A directory emptied now goes the next time, so that a writer that just made it keeps it.
    if (names?.length === 0) await rmdir(directory).catch(() => {});
    for (const name of names ?? []) {
      const file = await inspect({ owner, name, path: join(directory, name) }, options);
      if (file !== undefined) files.push(file);
    }
  }
  return files;
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

async function inspect(
  { owner, name, path }: { readonly owner: string; readonly name: string; readonly path: string },
  { onProblem }: EvictionOptions,
): Promise<CachedFile | undefined> {
  try {
    const { size, mtimeMs } = await stat(path);
    if (name.startsWith(temporaryPrefix)) return { path, owner, bytes: size, deadline: mtimeMs + abandonedMs };
    return { path, owner, bytes: size, deadline: (await readDeadline(path)) ?? Number.NEGATIVE_INFINITY };
  } catch (error) {
    if (!isMissing(error)) onProblem(owner, path, error);
    return undefined;
  }
}

async function remove({ path, owner, bytes }: CachedFile, { onDeleted, onProblem }: EvictionOptions): Promise<void> {
  try {
    await rm(path);
    onDeleted(owner, bytes);
  } catch (error) {
    if (!isMissing(error)) onProblem(owner, path, error);
  }
}
