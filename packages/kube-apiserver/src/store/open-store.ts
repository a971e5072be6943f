// SPDX-License-Identifier: Apache-2.0
import { accessSync, constants, copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Acknowledged, acknowledgedFile, readAcknowledged } from "./acknowledged.ts";
import { ChangeLog, type ChangeLogOptions, createChangeLog, type Log, type LoggedChange } from "./change-log.ts";
import { type DataDirectory, lockedError, lockFileName, takeDataDirectory } from "./data-directory.ts";
import { DiskReserve, reserveFile } from "./disk-reserve.ts";
import { moveBack } from "./files-in-place.ts";
import { defaultHistory, type HistoryLimits } from "./history.ts";
import { LogStore, type LogStoreOptions } from "./log-store.ts";
import { lostError, missingError, revisionGap } from "./lost-writes.ts";
import { sqliteBusy, sqliteCode, sqliteFull } from "./sqlite-error.ts";
import type { Codec, Store } from "./store.ts";
import { StoreError } from "./store-error.ts";
import { Decoder } from "./version.ts";
import { checkWal } from "./wal-check.ts";

// A database that is collected as garbage is closed, and its lock gone.
const held = new Set<DatabaseSync>();

/** Where the store lives and how much it keeps. */
export interface StoreOptions<T extends object> {
  /** Created if need be; belongs to this store alone until it is closed. */
  readonly directory: string;
  readonly codec: Codec<T>;
  readonly history?: Partial<HistoryLimits>;
  /** Bytes of encoded values whose decoded form is kept at hand. Default 8 MiB. */
  readonly decodedBytes?: number;
  /** Writes are refused, as on a full disk, when the database would grow beyond this. Default: no limit. */
  readonly maxBytes?: number;
  /** Called with a commit that was lost because it was in progress when the machine stopped. */
  readonly onWarning?: (message: string) => void;
  /** Milliseconds since 1970. Default: the clock of the machine. */
  readonly now?: () => number;
  /** Serve what is in a directory that cannot be written, and refuse every write. Default: refuse to open it. */
  readonly servesReadOnly?: boolean;
  /** Go on without writes that were acknowledged and are no longer there. Default: refuse to open such a store. */
  readonly acceptsLoss?: boolean;
}

/** The name of the database in the data directory. */
export const storeFile = "store.db";

const defaultDecodedBytes = 8 * 1024 * 1024;

/**
 * Opens the store, recovering by itself from a crash at any instant. Throws a StoreError: `locked` when another process has the
 * directory, `damaged`, `foreign` or `newer` when what is there cannot be used, `lost` when it ends before the last write that was acknowledged,
 * `unavailable` when it cannot be written.
 */
export function openStore<T extends object>(options: StoreOptions<T>): Store<T> {
  const { directory: path, servesReadOnly = false } = options;
  return servesReadOnly && existsSync(join(path, storeFile)) && isReadOnly(path, [storeFile, lockFileName])
    ? openReadOnly(options)
    : openWritable(options);
}

function openReadOnly<T extends object>(options: StoreOptions<T>): Store<T> {
  const { directory: path } = options;
  const release = shareDataDirectory(path);
  try {
    const log = openReadOnlyLog(logOptions(join(path, storeFile), options));
    const text = `cannot write to the store in ${path}: it was read-only when the server started: make it writable and start again; reading continues`;
    const refusal = new StoreError("unavailable", text);
    return new LogStore<T>({ ...partsOf(options), log, directory: { path, release }, refusal });
  } catch (error) {
    release();
    throw error;
  }
}

function openWritable<T extends object>(options: StoreOptions<T>): Store<T> {
  const reserve = new DiskReserve(join(options.directory, reserveFile));
  const directory = takeWithReserve(options.directory, reserve);
  try {
    requireDatabase(options);
    const path = directory.file(storeFile, createChangeLog);
    const log = openWithReserve({ ...logOptions(path, options), maxBytes: options.maxBytes }, reserve);
    try {
      return new LogStore<T>({ ...partsOf(options), log, directory, reserve });
    } catch (error) {
      log.close();
      throw error;
    }
  } catch (error) {
    directory.release();
    throw error;
  }
}

/** On a full disk, what is kept free for deletions also makes a start possible. */
function takeWithReserve(path: string, reserve: DiskReserve): DataDirectory {
  try {
    return takeDataDirectory(path);
  } catch (error) {
    const { cause } = error as { readonly cause?: NodeJS.ErrnoException };
    if (cause?.code !== "ENOSPC" && sqliteCode(cause) !== sqliteFull) throw error;
    reserve.release();
    return takeDataDirectory(path);
  }
}

/** A log of an earlier version is written to when it is opened, which a full disk refuses. */
function openWithReserve(options: ChangeLogOptions, reserve: DiskReserve): ChangeLog {
  try {
    return new ChangeLog(options);
  } catch (error) {
    if (sqliteCode(error) !== sqliteFull) throw error;
    reserve.release();
    return new ChangeLog(options);
  }
}

/** A database that is gone is replaced by an empty one only on request, and the log that belonged to it is put aside. */
function requireDatabase<T extends object>({ directory, acceptsLoss = false }: StoreOptions<T>): void {
  const path = join(directory, storeFile);
  moveBack(path);
  if (existsSync(path)) return;
  const marker = join(directory, acknowledgedFile);
  const promised = readAcknowledged(marker)?.revision;
  const hasLog = checkWal(`${path}-wal`).completeFrames > 0;
  if (promised === undefined && !hasLog) return;
  if (!acceptsLoss) throw promised === undefined ? missingError(path) : lostError(path, 0, promised);
  if (promised === undefined) new Acknowledged(marker, { revision: revisionGap }).close();
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${path}-wal.lost`);
}

function logOptions<T extends object>(path: string, options: StoreOptions<T>): ChangeLogOptions {
  const { directory, onWarning, acceptsLoss = false } = options;
  return { path, onWarning, acceptsLoss, acknowledged: join(directory, acknowledgedFile) };
}

function partsOf<T extends object>(
  options: StoreOptions<T>,
): Pick<LogStoreOptions<T>, "codec" | "decoder" | "limits" | "now"> {
  const { codec, decodedBytes = defaultDecodedBytes, history, now = Date.now } = options;
  return { codec, decoder: new Decoder(codec, decodedBytes), limits: { ...defaultHistory, ...history }, now };
}

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
 * Shares a directory that cannot be locked for writing: while it is held no process can write to it, though others may read it as well.
 * `locked`, naming the holder, when a process has taken it. Returns a function that releases it.
 */
export function shareDataDirectory(directory: string): () => void {
  const path = join(directory, lockFileName);
  if (!existsSync(path)) return () => {};
  const lock = new DatabaseSync(path, { readOnly: true, timeout: 0 });
  try {
    // A transaction that has read holds the lock until it ends.
    lock.exec("BEGIN; SELECT count(*) FROM sqlite_schema");
  } catch (error) {
    lock.close();
    throw sqliteCode(error) === sqliteBusy ? lockedError(directory, error) : error;
  }
  held.add(lock);
  return () => {
    held.delete(lock);
    lock.close();
  };
}

/**
 * The log in a directory that cannot be written. SQLite reads a write-ahead log only where it may write, and what is in there was
 * promised to clients: so a copy is read, with all the checks of a start, and is removed afterwards. Nothing can be committed.
 */
export function openReadOnlyLog(options: ChangeLogOptions): Log {
  const folder = mkdtempSync(join(tmpdir(), "purlin-read-only-"));
  try {
    const path = join(folder, basename(options.path));
    copyFileSync(options.path, path);
    if (existsSync(`${options.path}-wal`)) copyFileSync(`${options.path}-wal`, `${path}-wal`);
    const copy = new ChangeLog({ ...options, path, shownAs: options.path, ...keptCopy(options.acknowledged, folder) });
    try {
      return contentsOf(copy.compactedRevision, [...copy.read()]);
    } finally {
      copy.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A log that is opened writes its marker. */
function keptCopy(marker: string | undefined, folder: string): Pick<ChangeLogOptions, "acknowledged"> {
  if (marker === undefined) return {};
  const acknowledged = join(folder, basename(marker));
  if (existsSync(marker)) copyFileSync(marker, acknowledged);
  return { acknowledged };
}

function contentsOf(compactedRevision: number, rows: LoggedChange[]): Log {
  return {
    compactedRevision,
    // Once: the reader keeps them.
    read: () => rows.splice(0),
    commit: () => {
      throw new Error("the log is read-only");
    },
    problem: () => undefined,
    freeBytes: () => 0,
    checkpoint: () => {},
    copyTo: () => Promise.reject(new Error("the data directory is read-only")),
    close: () => {},
  };
}
