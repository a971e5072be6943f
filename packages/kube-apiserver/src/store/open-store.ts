// SPDX-License-Identifier: Apache-2.0
import { ChangeLog, createChangeLog } from "./change-log.ts";
import { takeDataDirectory } from "./data-directory.ts";
import { Decoder } from "./decoder.ts";
import { DEFAULT_HISTORY, type HistoryLimits } from "./history.ts";
import { LogStore } from "./log-store.ts";
import type { Codec, Store } from "./store.ts";

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
}

/** The name of the database in the data directory. */
export const STORE_FILE = "store.db";

const DEFAULT_DECODED_BYTES = 8 * 1024 * 1024;

/**
 * Opens the store, recovering by itself from a crash at any instant. Throws a StoreError: `locked` when another process has the
 * directory, `damaged`, `foreign` or `newer` when what is there cannot be used, `unavailable` when it cannot be written.
 */
export function openStore<T extends object>(options: StoreOptions<T>): Store<T> {
  const directory = takeDataDirectory(options.directory);
  try {
    const path = directory.file(STORE_FILE, createChangeLog);
    const log = new ChangeLog({ path, maxBytes: options.maxBytes, onWarning: options.onWarning });
    try {
      return new LogStore<T>({
        log,
        directory,
        codec: options.codec,
        decoder: new Decoder(options.codec, options.decodedBytes ?? DEFAULT_DECODED_BYTES),
        limits: { ...DEFAULT_HISTORY, ...options.history },
        now: options.now ?? Date.now,
      });
    } catch (error) {
      log.close();
      throw error;
    }
  } catch (error) {
    directory.release();
    throw error;
  }
}
