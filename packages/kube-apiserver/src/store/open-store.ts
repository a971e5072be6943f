// SPDX-License-Identifier: Apache-2.0
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { ACKNOWLEDGED_FILE, lostError, readAcknowledged } from "./acknowledged.ts";
import { ChangeLog, type ChangeLogOptions, createChangeLog } from "./change-log.ts";
import { type DataDirectory, LOCK_FILE, takeDataDirectory } from "./data-directory.ts";
import { Decoder } from "./decoder.ts";
import { DiskReserve, RESERVE_FILE } from "./disk-reserve.ts";
import { DEFAULT_HISTORY, type HistoryLimits } from "./history.ts";
import { LogStore, type LogStoreOptions } from "./log-store.ts";
import { isReadOnly, shareDataDirectory } from "./read-only-directory.ts";
import { openReadOnlyLog } from "./read-only-log.ts";
import type { Codec, Store } from "./store.ts";
import { StoreError } from "./store-error.ts";

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
  /** Told about a commit that was lost because it was in progress when the machine stopped. */
  readonly onWarning?: (message: string) => void;
  /** Milliseconds since 1970. Default: the clock of the machine. */
  readonly now?: () => number;
  /** Serve what is in a directory that cannot be written, and refuse every write. Default: refuse to open it. */
  readonly servesReadOnly?: boolean;
  /** Go on without writes that were acknowledged and are no longer there. Default: refuse to open such a store. */
  readonly acceptsLoss?: boolean;
}

/** The name of the database in the data directory. */
export const STORE_FILE = "store.db";

const DEFAULT_DECODED_BYTES = 8 * 1024 * 1024;

/**
 * Opens the store, recovering by itself from a crash at any instant. Throws a StoreError: `locked` when another process has the
 * directory, `damaged`, `foreign` or `newer` when what is there cannot be used, `lost` when it ends before the last write that was acknowledged,
 * `unavailable` when it cannot be written.
 */
export function openStore<T extends object>(options: StoreOptions<T>): Store<T> {
  const { directory: path, servesReadOnly = false } = options;
  return servesReadOnly && existsSync(join(path, STORE_FILE)) && isReadOnly(path, [STORE_FILE, LOCK_FILE])
    ? openReadOnly(options)
    : openWritable(options);
}

function openReadOnly<T extends object>(options: StoreOptions<T>): Store<T> {
  const { directory: path } = options;
  const release = shareDataDirectory(path);
  try {
    const log = openReadOnlyLog(logOptions(join(path, STORE_FILE), options));
    const text = `cannot write to the store in ${path}: it was read-only when the server started: make it writable and start again; reading goes on`;
    const refusal = new StoreError("unavailable", text);
    return new LogStore<T>({ ...partsOf(options), log, directory: { path, release }, refusal });
  } catch (error) {
    release();
    throw error;
  }
}

function openWritable<T extends object>(options: StoreOptions<T>): Store<T> {
  const reserve = new DiskReserve(join(options.directory, RESERVE_FILE));
  const directory = takeWithReserve(options.directory, reserve);
  try {
    requireDatabase(options);
    const path = directory.file(STORE_FILE, createChangeLog);
    const log = new ChangeLog({ ...logOptions(path, options), maxBytes: options.maxBytes });
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
    if ((error as { readonly cause?: NodeJS.ErrnoException }).cause?.code !== "ENOSPC") {
      throw error;
    }
    reserve.release();
    return takeDataDirectory(path);
  }
}

/** A database that is gone is replaced by an empty one only on request, and the log that belonged to it is put aside. */
function requireDatabase<T extends object>({ directory, acceptsLoss = false }: StoreOptions<T>): void {
  const path = join(directory, STORE_FILE);
  const promised = readAcknowledged(join(directory, ACKNOWLEDGED_FILE));
  if (promised === undefined || existsSync(path)) {
    return;
  }
  if (!acceptsLoss) {
    throw lostError(path, 0, promised);
  }
  if (existsSync(`${path}-wal`)) {
    renameSync(`${path}-wal`, `${path}-wal.lost`);
  }
}

function logOptions<T extends object>(path: string, options: StoreOptions<T>): ChangeLogOptions {
  const { directory, onWarning, acceptsLoss = false } = options;
  return { path, onWarning, acceptsLoss, acknowledged: join(directory, ACKNOWLEDGED_FILE) };
}

function partsOf<T extends object>(
  options: StoreOptions<T>,
): Pick<LogStoreOptions<T>, "codec" | "decoder" | "limits" | "now"> {
  const { codec, decodedBytes = DEFAULT_DECODED_BYTES, history, now = Date.now } = options;
  return { codec, decoder: new Decoder(codec, decodedBytes), limits: { ...DEFAULT_HISTORY, ...history }, now };
}
