// SPDX-License-Identifier: Apache-2.0
import { randomFillSync } from "node:crypto";
import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** The name of the file that keeps some room on the disk. */
export const reserveFile = "reserve";

const reserveBytes = 4 * 1024 * 1024;
const blockBytes = 128 * 1024;
/** What a commit writes at least. */
const pageBytes = 4096;
/** The number of bytes that are committed between two reads of the free disk space. */
const lookBytes = 256 * 1024;

/**
 * A file that takes up room on the disk, to be given back when the disk is full: deleting objects writes a little before it makes room.
 * Small disks give an eighth.
 */
export class DiskReserve {
  readonly #path: string;
  /** Whether the room was given back and not yet taken again. */
  #isReleased = false;
  /** Bytes committed since the last checkpoint, and since the last look at the disk. */
  #loggedBytes = 0;
  #unlookedBytes = 0;

  constructor(path: string) {
    this.#path = path;
  }

  get isReleased(): boolean {
    return this.#isReleased;
  }

  /**
   * Whether the disk has so little room after a commit that the write-ahead log should be moved into the database now: that may have to grow
   * by as much, which a full disk does not allow. Looks now and then only.
   */
  isLowAfter(versions: readonly { readonly bytes: Uint8Array }[]): boolean {
    const bytes = versions.reduce((sum, version) => sum + version.bytes.length + pageBytes, pageBytes);
    this.#loggedBytes += bytes;
    this.#unlookedBytes += bytes;
    if (this.#unlookedBytes < lookBytes) return false;
    this.#unlookedBytes = 0;
    try {
      return this.#free() < 2 * (this.#loggedBytes + reserveBytes);
    } catch {
      // The directory is gone, which is for others to notice.
      return false;
    }
  }

  /** The write-ahead log was moved into the database. */
  checkpointed(): void {
    this.#loggedBytes = 0;
  }

  /** Takes the room unless it has it. Returns whether it has it. */
  hold(): boolean {
    try {
      const wanted = this.#wantedBytes();
      if (sizeOf(this.#path) >= wanted) return this.#held();
      // Twice: what comes next needs some, too.
      if (this.#free() < 2 * wanted) return false;
      fill(this.#path, wanted);
      return this.#held();
    } catch {
      rmSync(this.#path, { force: true });
      return false;
    }
  }

  /** Gives the room back. Bound, to be handed on. */
  readonly release = (): void => {
    this.#isReleased = true;
    rmSync(this.#path, { force: true });
  };

  #held(): true {
    this.#isReleased = false;
    return true;
  }

  /** Bytes that others may still take of the disk. */
  #free(): number {
    const { bavail, bsize } = statfsSync(dirname(this.#path));
    return bavail * bsize;
  }

  #wantedBytes(): number {
    const { blocks, bsize } = statfsSync(dirname(this.#path));
    return Math.min(reserveBytes, Math.floor((blocks * bsize) / 8));
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** With bytes that cannot be compressed: a file that is merely long, or all zeros, may have no room of its own. */
function fill(path: string, length: number): void {
  const file = openSync(path, "w", 0o600);
  try {
    const bytes = randomFillSync(Buffer.alloc(blockBytes));
    for (let at = 0; at < length; ) at += writeSync(file, bytes, 0, Math.min(blockBytes, length - at));
  } finally {
    closeSync(file);
  }
}
