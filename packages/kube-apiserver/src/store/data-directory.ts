// SPDX-License-Identifier: Apache-2.0
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteBusy, sqliteCode, sqliteFull } from "./sqlite-error.ts";
import { isStoreError, StoreError } from "./store-error.ts";
import { syncDirectory } from "./sync-directory.ts";

/** A data directory that belongs to this process until it is released. */
export interface DataDirectory {
  readonly path: string;
  /**
   * The path of a file in it that only its owner can read. If it is not there, `create` fills an empty one, which gets its name
   * only when it is complete: a crash leaves the whole file or none.
   */
  file(name: string, create: (path: string) => void): string;
  release(): void;
}

/** The name of the file that is locked. */
export const lockFileName = "lock";

// A database that is collected as garbage is closed, and its lock gone. It must last until it is released.
const held = new Set<DatabaseSync>();

/**
 * Creates the directory if need be, for its owner only, and takes it. `locked`, naming the holder, when another process has it;
 * `unavailable` when it cannot be written.
 */
export function takeDataDirectory(path: string): DataDirectory {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const lock = takeLock(path);
    held.add(lock);
    return { path, file: (name, create) => privateFile(path, name, create), release: () => releaseLock(lock) };
  } catch (error) {
    throw isStoreError(error)
      ? error
      : new StoreError("unavailable", `cannot use the data directory ${path}: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * The lock is SQLite's own on an empty database: the operating system drops it with the process, however the process ends, so
 * there is nothing stale to clean up. The file beside it only names the process that holds it.
 */
function takeLock(path: string): DatabaseSync {
  const lock = new DatabaseSync(lockFile(path), { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    writeFileSync(holderFile(path), `${process.pid}\n`, { mode: 0o600 });
    return lock;
  } catch (error) {
    lock.close();
    throw sqliteCode(error) === sqliteBusy ? lockedError(path, error) : error;
  }
}

function releaseLock(lock: DatabaseSync): void {
  held.delete(lock);
  lock.close();
}

// Made in place, never renamed into it: the loser of a race would replace the file the winner has locked.
function lockFile(directory: string): string {
  const path = join(directory, lockFileName);
  if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
  return path;
}

const holderFile = (directory: string): string => join(directory, "lock.pid");

/**
 * Whether the process that has a directory is ending: it was killed, and the system has not removed it yet, which takes a while for a
 * large process on a busy machine. Its lock is free a moment later.
 */
export function isHolderEnding(path: string): boolean {
  const pid = Number(readIfThere(holderFile(path)));
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  if (!isAlive(pid)) return true;
  const status = readIfThere(`/proc/${pid}/status`);
  const pending = /^ShdPnd:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0";
  return /^State:\s*[ZX]/m.test(status) || (BigInt(`0x${pending}`) & killed) !== 0n;
}

/** The bit of SIGKILL among pending signals. */
const killed = 1n << 8n;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** The message with the process that holds the directory. */
export function lockedError(path: string, cause: unknown): StoreError {
  const pid = readIfThere(holderFile(path)).trim() || "unknown";
  const text = `the data directory ${path} is in use by the process with pid ${pid}: stop it, or choose another directory`;
  return new StoreError("locked", text, { cause });
}

// SQLite gives its side files the permissions of the file they belong to, so it must not be the one to create it.
function privateFile(directory: string, name: string, create: (path: string) => void): string {
  const path = join(directory, name);
  if (existsSync(path)) {
    chmodSync(path, 0o600);
    return path;
  }
  const unfinished = `${path}.new`;
  rmSync(unfinished, { force: true });
  closeSync(openSync(unfinished, "wx", 0o600));
  create(unfinished);
  renameSync(unfinished, path);
  syncDirectory(directory);
  return path;
}

const sqliteReadonly = 8;
const sqliteCorrupt = 11;
/** Extended codes: a sync of the file or of its directory failed. */
const syncFailures: ReadonlySet<number> = new Set([1034, 1290]);

/** Why a commit failed, for the one whose write it was. */
export function writeError(directory: string, error: unknown): StoreError {
  return new StoreError("unavailable", textOf(directory, reasonOf(error)), { cause: error });
}

function textOf(directory: string, reason: string): string {
  return `cannot write to the store in ${directory}: ${reason}; reading continues`;
}

/**
 * True when no later write may be tried. After a failed sync the system may have thrown away what it could not write and claims the
 * next sync a success, so only a restart, which reads what is on disk, can find out. A full disk can be tried again.
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
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const code = sqliteCode(error);
  if (code === sqliteFull) return fullReason;
  if (code === sqliteReadonly) return "the directory or its disk is read-only: make it writable";
  if (code === sqliteCorrupt) return `the database is damaged: stop the server and restore a backup (${message})`;
  return isBeyondRepair(error) ? `the disk failed: restart the server once it works again (${message})` : message;
}
