// SPDX-License-Identifier: Apache-2.0
import { closeSync, constants, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import { showIdentity } from "./meta.ts";

/** The name of the file beside the database that holds the last revision a client was promised. */
export const acknowledgedFile = "acknowledged";

/** What a marker says. */
export interface AcknowledgedMark {
  readonly revision: number;
  /** Of the store; undefined in a marker of an earlier version. */
  readonly identity?: number | undefined;
}

/**
 * The last acknowledged revision, kept outside of the database and its write-ahead log. Written after each commit without a sync of its own:
 * it survives the death of the process, and after a power cut it is at most older than what is on disk, never newer. So a store that
 * ends before it has lost writes that were answered.
 */
export class Acknowledged {
  readonly #file: number;

  constructor(path: string, mark: AcknowledgedMark) {
    // Opened once: a path would be looked up for every commit. No truncation, so that it never needs room on a full disk.
    this.#file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    this.#write(revisionLine(mark.revision) + (mark.identity === undefined ? "" : identityLine(mark.identity)));
  }

  record(revision: number): void {
    this.#write(revisionLine(revision));
  }

  /** Returns when the marker is on disk, as far as the disk takes it. */
  sync(): void {
    try {
      fsyncSync(this.#file);
    } catch {
      // See below.
    }
  }

  close(): void {
    this.sync();
    closeSync(this.#file);
  }

  /** Writes in place, in one piece. A marker that cannot be written stays older, which only makes it less useful. */
  #write(text: string): void {
    try {
      writeSync(this.#file, text, 0, "latin1");
    } catch {
      // The disk refuses. The commit itself is durable.
    }
  }
}

/** What a marker says; undefined where there is no marker, or none that can be read. */
export function readAcknowledged(path: string): AcknowledgedMark | undefined {
  try {
    const text = readFileSync(path, "latin1");
    const revision = Number.parseInt(text, 10);
    const line = revisionLine(revision);
    if (!text.startsWith(line)) return undefined;
    const identity = Number.parseInt(text.slice(line.length), 16);
    return { revision, ...(text.startsWith(identityLine(identity), line.length) && { identity }) };
  } catch {
    return undefined;
  }
}

// Always as long: a shorter one would leave the end of the one before it.
const revisionLine = (revision: number): string => checkedLine(String(revision).padStart(16, "0"));
const identityLine = (identity: number): string => checkedLine(showIdentity(identity));

function checkedLine(text: string): string {
  return `${text} ${crc32(text).toString(16).padStart(8, "0")}\n`;
}
