// SPDX-License-Identifier: Apache-2.0
import { accessSync, constants, existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteCode } from "./change-log.ts";
import { LOCK_FILE, lockedError } from "./data-directory.ts";

const SQLITE_BUSY = 5;

/** Whether the directory, or one of the files in it, is there but may not be written: by its permissions, or because its disk is not. */
export function isReadOnly(directory: string, files: readonly string[]): boolean {
  return [directory, ...files.map((name) => join(directory, name))].some(
    (path) => existsSync(path) && !isWritable(path),
  );
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Shares a directory that cannot be taken: as long as it is held nobody can write to it either, though others may read it as well.
 * `locked`, naming the holder, when a process has taken it. Returns the way to let it go.
 */
export function shareDataDirectory(directory: string): () => void {
  const path = join(directory, LOCK_FILE);
  if (!existsSync(path)) {
    return () => {};
  }
  const lock = new DatabaseSync(path, { readOnly: true, timeout: 0 });
  try {
    // A transaction that has read holds the lock until it ends.
    lock.exec("BEGIN; SELECT count(*) FROM sqlite_schema");
  } catch (error) {
    lock.close();
    throw sqliteCode(error) === SQLITE_BUSY ? lockedError(directory, error) : error;
  }
  held.add(lock);
  return () => {
    held.delete(lock);
    lock.close();
  };
}

// A database that is collected as garbage is closed, and its lock gone.
const held = new Set<DatabaseSync>();
