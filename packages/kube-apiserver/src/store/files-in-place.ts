// SPDX-License-Identifier: Apache-2.0
import { type Stats, statSync } from "node:fs";
import { basename, dirname } from "node:path";

/**
 * Whether the files of an open database are still the ones that its path leads to. A directory that is removed, moved or replaced leaves
 * them open but out of reach: what is written then is gone with the process.
 */
export class FilesInPlace {
  readonly #path: string;
  readonly #database: Stats | undefined;
  #log: Stats | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#database = statOf(path);
    this.#log = statOf(`${path}-wal`);
  }

  /** What is wrong and what to do; undefined while all is in place. */
  problem(): string | undefined {
    if (!isSame(this.#database, statOf(this.#path))) return this.#text(this.#path);
    const log = statOf(`${this.#path}-wal`);
    // It is made by the first commit, and stays until the database is closed.
    this.#log ??= log;
    return isSame(this.#log, log) ? undefined : this.#text(`${this.#path}-wal`);
  }

  #text(path: string): string {
    const what = `${basename(path)} was removed, moved or replaced while the server was running`;
    return `${what}: move ${dirname(path)} back, or restart the server to continue with what is there now`;
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // The directory is no longer one, or may not be entered.
    return undefined;
  }
}

function isSame(before: Stats | undefined, now: Stats | undefined): boolean {
  return before?.ino === now?.ino && before?.dev === now?.dev;
}
