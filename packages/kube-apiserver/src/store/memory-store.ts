// SPDX-License-Identifier: Apache-2.0
import type { Log } from "./change-log.ts";
import { Decoder } from "./decoder.ts";
import { defaultHistory } from "./history.ts";
import { LogStore } from "./log-store.ts";
import type { Codec, Store } from "./store.ts";

const decodedBytes = 64 * 1024 * 1024;

/** A log that keeps nothing. */
const noLog: Log = {
  compactedRevision: 1,
  read: () => [],
  commit() {},
  problem: () => undefined,
  freeBytes: () => Number.MAX_SAFE_INTEGER,
  checkpoint() {},
  copyTo: () => Promise.reject(new Error("a store in memory cannot be copied to a file")),
  close() {},
};

/** A store without a disk: what it holds is lost when it is closed. */
export function openMemoryStore<T extends object>(codec: Codec<T>): Store<T> {
  return new LogStore<T>({
    log: noLog,
    directory: { path: "memory", release() {} },
    codec,
    decoder: new Decoder(codec, decodedBytes),
    limits: defaultHistory,
    now: Date.now,
  });
}
