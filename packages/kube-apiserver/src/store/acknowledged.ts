// SPDX-License-Identifier: Apache-2.0
import { closeSync, constants, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import { StoreError } from "./store-error.ts";

/** The name of the file beside the database that holds the last revision a client was promised. */
export const acknowledgedFile = "acknowledged";

/**
 * The last acknowledged revision, kept outside of the database and its write-ahead log. Written after each commit without a sync of its own:
 * it survives the death of the process, and after a power cut it is at most older than what is on disk, never newer. So a store that
 * ends before it has lost writes that were answered.
 */
export class Acknowledged {
  readonly #file: number;

  constructor(path: string) {
    // Opened once: a path would be looked up for every commit. No truncation, so that it never needs room on a full disk.
    this.#file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
  }

  /** Writes in place, in one piece. A marker that cannot be written stays older, which only makes it less useful. */
  record(revision: number): void {
    try {
      writeSync(this.#file, recordOf(revision), 0, "latin1");
    } catch {
      // The disk refuses. The commit itself is durable.
    }
  }

  close(): void {
    try {
      fsyncSync(this.#file);
    } catch {
      // See record.
    }
    closeSync(this.#file);
  }
}

/** The revision in a marker; undefined where there is no marker, or none that can be read. */
export function readAcknowledged(path: string): number | undefined {
  try {
    const text = readFileSync(path, "latin1").slice(0, recordOf(0).length);
    const revision = Number.parseInt(text, 10);
    return text === recordOf(revision) ? revision : undefined;
  } catch {
    return undefined;
  }
}

// Always as long: a shorter one would leave the end of the one before it.
function recordOf(revision: number): string {
  const digits = String(revision).padStart(16, "0");
  return `${digits} ${crc32(digits).toString(16).padStart(8, "0")}\n`;
}

/** Says what is lost and how to continue. */
export function lostError(path: string, found: number, acknowledged: number): StoreError {
  const lost = `the store ${path} ends at revision ${found}, but writes up to revision ${acknowledged} were acknowledged`;
  const why = `${path}-wal, or ${path} itself, was removed, emptied or replaced by an older one`;
  const advice = "restore both from a backup, or add --accept-data-loss once to continue without these writes";
  return new StoreError("lost", `${lost}: ${why}; the files were left as they are: ${advice}`);
}
