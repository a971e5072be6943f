// SPDX-License-Identifier: Apache-2.0
import { sqliteCode } from "./change-log.ts";
import { StoreError } from "./store-error.ts";

const sqliteReadonly = 8;
const sqliteCorrupt = 11;
const sqliteFull = 13;
/** Extended codes: a sync of the file or of its directory failed. */
const syncFailures: ReadonlySet<number> = new Set([1034, 1290]);

/** Why a commit failed, for the one whose write it was. */
export function writeError(directory: string, error: unknown): StoreError {
  return new StoreError("unavailable", textOf(directory, reasonOf(error)), { cause: error });
}

function textOf(directory: string, reason: string): string {
  return `cannot write to the store in ${directory}: ${reason}; reading goes on`;
}

/**
 * True when no later write may be tried. After a failed sync the system may have thrown away what it could not write and claims the
 * next sync a success, so only a restart, which reads what is really there, can tell. A full disk can be tried again.
 */
export function isBeyondRepair(error: unknown): boolean {
  const code = (error as { readonly errcode?: unknown } | null)?.errcode;
  return sqliteCode(error) === sqliteCorrupt || (typeof code === "number" && syncFailures.has(code));
}

const fullReason = "the disk, or the room given to the store, is full: free some space, or delete objects";

/** Whether a write was refused for want of room. */
export function isFull(error: StoreError): boolean {
  return sqliteCode(error.cause) === sqliteFull;
}

/** Why a write that needs room is refused while what was kept free for deletions is in use. */
export function fullError(directory: string): StoreError {
  return new StoreError("unavailable", textOf(directory, fullReason));
}

/** What is wrong with the disk, and what to do about it. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const code = sqliteCode(error);
  if (code === sqliteFull) return fullReason;
  if (code === sqliteReadonly) return "the directory or its disk is read-only: make it writable";
  if (code === sqliteCorrupt) return `the database is damaged: stop the server and restore a backup (${message})`;
  return isBeyondRepair(error) ? `the disk failed: restart the server once it works again (${message})` : message;
}
