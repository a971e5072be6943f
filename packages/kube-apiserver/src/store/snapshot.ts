// SPDX-License-Identifier: Apache-2.0
import { chmodSync, closeSync, copyFileSync, fsyncSync, mkdirSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Acknowledged, acknowledgedFile } from "./acknowledged.ts";
import { ChangeLog } from "./change-log.ts";
import { takeDataDirectory } from "./data-directory.ts";
import { revisionGap } from "./lost-writes.ts";
import { storeFile } from "./open-store.ts";
import type { Store } from "./store.ts";

/** The name of the snapshot that a running server makes in its data directory. */
export const snapshotFile = "snapshot.db";

/** Where a running server makes a snapshot of its store, in its data directory, when it gets a POST. */
export const snapshotPath = "/purlin.dev/snapshot";

/** What a snapshot holds. */
export interface SnapshotSummary {
  /** The last revision in it. */
  readonly revision: number;
  readonly objects: number;
}

/** Makes the snapshot of a store that is open, in place of the one before. */
export async function writeSnapshot(store: Pick<Store<object>, "copyTo">, directory: string): Promise<void> {
  const path = join(directory, snapshotFile);
  removeSnapshot(path);
  // SQLite gives its side files the mode of the file they belong to.
  closeSync(openSync(path, "wx", 0o600));
  try {
    await store.copyTo(path);
  } catch (error) {
    removeSnapshot(path);
    throw error;
  }
}

/** Makes the snapshot of a data directory that no server uses; a StoreError with the code `locked` where one does. */
export async function writeSnapshotOf(directory: string): Promise<void> {
  const taken = takeDataDirectory(directory);
  try {
    const log = new ChangeLog({ path: join(directory, storeFile), acknowledged: join(directory, acknowledgedFile) });
    try {
      await writeSnapshot(log, directory);
    } finally {
      log.close();
    }
  } finally {
    taken.release();
  }
}

/** Deletes a snapshot with the files that SQLite keeps beside it. */
export function removeSnapshot(path: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(`${path}${suffix}`, { force: true });
}

/** Reads a snapshot completely, with every checksum; a StoreError with the code `damaged`, `foreign` or `newer` when it cannot be used. */
export function checkSnapshot(path: string): SnapshotSummary {
  const log = new ChangeLog({ path });
  try {
    const present = new Set<string>();
    let revision = log.compactedRevision;
    for (const change of log.read()) {
      revision = Math.max(revision, change.revision);
      if (change.bytes === undefined) present.delete(change.key);
      else present.add(change.key);
    }
    return { revision, objects: present.size };
  } finally {
    log.close();
  }
}

/** Makes a data directory with the store of a snapshot. The folder may exist but holds no store. */
export function restoreSnapshot(snapshot: string, directory: string): SnapshotSummary {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, storeFile);
  copyFileSync(snapshot, path);
  chmodSync(path, 0o600);
  const summary = checkSnapshot(path);
  const marker = join(directory, acknowledgedFile);
  // A restored store continues later, as one that has lost writes.
  new Acknowledged(marker, { revision: summary.revision + revisionGap }).close();
  new ChangeLog({ path, acknowledged: marker, acceptsLoss: true }).close();
  const file = openSync(path, "r+");
  fsyncSync(file);
  closeSync(file);
  return summary;
}
