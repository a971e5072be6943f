// SPDX-License-Identifier: Apache-2.0
import { sqliteCode } from "./change-log.ts";
import { StoreError } from "./store-error.ts";

const SQLITE_READONLY = 8;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
/** Extended codes: a sync of the file or of its directory failed. */
const SYNC_FAILURES: ReadonlySet<number> = new Set([1034, 1290]);

/** Why a commit failed, for the one whose write it was. */
export function writeError(directory: string, error: unknown): StoreError {
  const text = `cannot write to the store in ${directory}: ${reasonOf(error)}; reading goes on`;
  return new StoreError("unavailable", text, { cause: error });
}

/**
 * True when no later write may be tried. After a failed sync the system may have thrown away what it could not write and claims the
 * next sync a success, so only a restart, which reads what is really there, can tell. A full disk can be tried again.
 */
export function isBeyondRepair(error: unknown): boolean {
  const code = (error as { readonly errcode?: unknown } | null)?.errcode;
  return sqliteCode(error) === SQLITE_CORRUPT || (typeof code === "number" && SYNC_FAILURES.has(code));
}

/** What is wrong with the disk, and what to do about it. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const code = sqliteCode(error);
  if (code === SQLITE_FULL) {
    return "the disk, or the room given to the store, is full: free some space";
  }
  if (code === SQLITE_READONLY) {
    return "the directory or its disk is read-only: make it writable";
  }
  if (code === SQLITE_CORRUPT) {
    return `the database is damaged: stop the server and restore a backup (${message})`;
  }
  return isBeyondRepair(error) ? `the disk failed: restart the server once it works again (${message})` : message;
}
