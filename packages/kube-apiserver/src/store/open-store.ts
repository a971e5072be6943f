// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ChangeLog, createChangeLog } from "./change-log.ts";
import { LOCK_FILE, takeDataDirectory } from "./data-directory.ts";
import { Decoder } from "./decoder.ts";
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
}

/** The name of the database in the data directory. */
export const STORE_FILE = "store.db";

const DEFAULT_DECODED_BYTES = 8 * 1024 * 1024;

/**
 * Opens the store, recovering by itself from a crash at any instant. Throws a StoreError: `locked` when another process has the
 * directory, `damaged`, `foreign` or `newer` when what is there cannot be used, `unavailable` when it cannot be written.
 */
export function openStore<T extends object>(options: StoreOptions<T>): Store<T> {
  const { directory: path, servesReadOnly = false } = options;
  return servesReadOnly && existsSync(join(path, STORE_FILE)) && isReadOnly(path, [STORE_FILE, LOCK_FILE])
    ? openReadOnly(options)
    : openWritable(options);
}

function openReadOnly<T extends object>(options: StoreOptions<T>): Store<T> {
  const { directory: path, onWarning } = options;
  const release = shareDataDirectory(path);
  try {
    const log = openReadOnlyLog({ path: join(path, STORE_FILE), onWarning });
    const text = `cannot write to the store in ${path}: it was read-only when the server started: make it writable and start again; reading goes on`;
    const refusal = new StoreError("unavailable", text);
    return new LogStore<T>({ ...partsOf(options), log, directory: { path, release }, refusal });
  } catch (error) {
    release();
    throw error;
  }
}

function openWritable<T extends object>(options: StoreOptions<T>): Store<T> {
  const directory = takeDataDirectory(options.directory);
  try {
    const path = directory.file(STORE_FILE, createChangeLog);
    const log = new ChangeLog({ path, maxBytes: options.maxBytes, onWarning: options.onWarning });
    try {
      return new LogStore<T>({ ...partsOf(options), log, directory });
    } catch (error) {
      log.close();
      throw error;
    }
  } catch (error) {
    directory.release();
    throw error;
  }
}

function partsOf<T extends object>(
  options: StoreOptions<T>,
): Pick<LogStoreOptions<T>, "codec" | "decoder" | "limits" | "now"> {
  const { codec, decodedBytes = DEFAULT_DECODED_BYTES, history, now = Date.now } = options;
  return { codec, decoder: new Decoder(codec, decodedBytes), limits: { ...DEFAULT_HISTORY, ...history }, now };
}
