// SPDX-License-Identifier: Apache-2.0
import { closeSync, existsSync, fstatSync, openSync, readSync, renameSync, type Stats, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { crc32 } from "node:zlib";
import { countIntactFrames, walBytes } from "./wal-check.ts";

/**
 * Whether the files of an open database are still the ones that its path leads to, and as they were last written. A directory that is removed,
 * moved or replaced leaves them open but out of reach: what is written then is gone with the process. Files that are truncated or overwritten
 * in place no longer hold what was acknowledged, and what is written then cannot be read back. Size and time show it; a file whose time
 * alone differs is read before it counts, as some file systems change times later, and programs touch files.
 */
export class FilesInPlace {
  readonly #path: string;
  readonly #frames: () => number;
  readonly #database: OpenFile;
  #log: OpenFile | undefined;
  #sample: number;
  #header: string;

  /** `frames` gives the number of frames in the write-ahead log as the database knows it. */
  constructor(path: string, frames: () => number) {
    this.#path = path;
    this.#frames = frames;
    this.#database = new OpenFile(path);
    this.#log = openIfThere(`${path}-wal`);
    this.#sample = sampleOf(this.#database);
    this.#header = headerOf(this.#log);
  }

  /** What is wrong and what to do; undefined while all is in place. */
  problem(): string | undefined {
    const files = this.#log === undefined ? [this.#database] : [this.#database, this.#log];
    return files.every((file) => file.isUntouchedInPlace()) ? undefined : (this.misplaced() ?? this.altered());
  }

  /** A file that no longer exists under its name: what is open can be read and written, and is lost when the process ends. */
  misplaced(): string | undefined {
    const path = [this.#database, this.#log].find((file) => file?.isInPlace() === false)?.path;
    if (path === undefined) return undefined;
    const what = `${basename(path)} was removed, moved or replaced while the server was running`;
    return `${what}: move ${dirname(path)} back, or restart the server to continue with what is there now`;
  }

  /** A file that another program has written to: its content must no longer be used. */
  altered(): string | undefined {
    const path = this.#isDatabaseAltered() ? this.#path : this.#isLogAltered() ? `${this.#path}-wal` : undefined;
    if (path === undefined) return undefined;
    const what = `${basename(path)} was truncated or overwritten by another program while the server was running`;
    const advice = "save what the server still has in memory with purlin export, then restart the server";
    return `${what}: ${advice} to continue with what is there now, or restore a backup`;
  }

  /** Called after a commit: the write-ahead log is as it should be. */
  committed(): void {
    this.#log ??= openIfThere(`${this.#path}-wal`);
    this.#log?.remember();
    this.#header = headerOf(this.#log);
  }

  /** Called after the write-ahead log was moved into the database: both are as they should be. */
  checkpointed(): void {
    this.committed();
    this.#database.remember();
    this.#sample = sampleOf(this.#database);
  }

  /**
   * Closes the database with `close`. SQLite moves its log into the database then, unless that was moved away: which is how altered files
   * are left as they are.
   */
  closeAround(close: () => void): void {
    const isAltered = this.misplaced() === undefined && this.altered() !== undefined;
    this.#log?.close();
    const restore = isAltered ? moveAside(this.#path) : () => {};
    try {
      close();
    } finally {
      restore();
      // Not before: a process that closes a file loses all of its locks on it.
      this.#database.close();
    }
  }

  #isDatabaseAltered(): boolean {
    if (this.#database.isUntouched()) return false;
    if (!this.#database.hasSize() || sampleOf(this.#database) !== this.#sample) return true;
    this.#database.remember();
    return false;
  }

  #isLogAltered(): boolean {
    const log = this.#log;
    if (log === undefined || log.isUntouched()) return false;
    // What another program has appended is overwritten by the next commits, and does not count for a start.
    if (log.isShorter() || headerOf(log) !== this.#header) return true;
    const frames = this.#frames();
    if (countIntactFrames(log.read(0, walBytes(frames))) < frames) return true;
    log.remember();
    return false;
  }
}

/** A file that is kept open, and how it was when it was last looked at. */
class OpenFile {
  readonly path: string;
  readonly #file: number;
  #seen: Stats;

  constructor(path: string) {
    this.path = path;
    this.#file = openSync(path, "r");
    this.#seen = fstatSync(this.#file);
  }

  get size(): number {
    return this.#seen.size;
  }

  remember(): void {
    this.#seen = fstatSync(this.#file);
  }

  isInPlace(now: Stats | undefined = statOf(this.path)): boolean {
    return now?.ino === this.#seen.ino && now.dev === this.#seen.dev;
  }

  isUntouched(now: Stats = fstatSync(this.#file)): boolean {
    return now.mtimeMs === this.#seen.mtimeMs && now.size === this.#seen.size;
  }

  isUntouchedInPlace(): boolean {
    const now = statOf(this.path);
    return now !== undefined && this.isInPlace(now) && this.isUntouched(now);
  }

  hasSize(): boolean {
    return fstatSync(this.#file).size === this.#seen.size;
  }

  isShorter(): boolean {
    return fstatSync(this.#file).size < this.#seen.size;
  }

  /** Fewer bytes at the end of the file. */
  read(at: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(this.#file, bytes, 0, length, at));
  }

  close(): void {
    closeSync(this.#file);
  }
}

function openIfThere(path: string): OpenFile | undefined {
  return statOf(path) === undefined ? undefined : new OpenFile(path);
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // The directory is no longer one, or may not be entered.
    return undefined;
  }
}

const headerBytes = 32;

function headerOf(log: OpenFile | undefined): string {
  return log?.read(0, headerBytes).toString("latin1") ?? "";
}

const pageBytes = 4096;
const samples = 64;

/** Of a small file all bytes, of a large one the first and last pages and some between them. */
function sampleOf(file: OpenFile): number {
  const pages = Math.ceil(file.size / pageBytes);
  const step = Math.max(1, pages / samples);
  let sum = 0;
  for (let page = 0; page < pages; page += step) sum = crc32(file.read(Math.floor(page) * pageBytes, pageBytes), sum);
  return crc32(file.read(Math.max(0, pages - 1) * pageBytes, pageBytes), sum);
}

const nameAside = (path: string): string => `${path}.closing`;

/** Gives the file another name for a moment. Returns how to give it its own again. */
function moveAside(path: string): () => void {
  try {
    renameSync(path, nameAside(path));
    return () => renameSync(nameAside(path), path);
  } catch {
    return () => {};
  }
}

/** A kill while an altered database was closed leaves it under its other name. */
export function moveBack(path: string): void {
  if (!existsSync(path) && existsSync(nameAside(path))) renameSync(nameAside(path), path);
}
