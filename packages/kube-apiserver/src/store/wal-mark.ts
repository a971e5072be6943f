// SPDX-License-Identifier: Apache-2.0
import type { DatabaseSync } from "node:sqlite";
import { closedWal, isWalInUse, noWal, readMeta, writeMeta } from "./meta.ts";
import { readLineage, type WalReport } from "./wal-check.ts";

/**
 * Says in the database itself, not only in its write-ahead log, which log is in use: a log that is missing or of another database is noticed
 * at the next start. Before the first commit, so that opening a store writes nothing.
 */
export class WalMark {
  readonly #database: DatabaseSync;
  readonly #log: string;
  /** Whether SQLite continues a log that was there. It makes one with the first commit otherwise. */
  readonly #hasLog: boolean;
  #isSet: boolean;

  constructor(
    database: DatabaseSync,
    state: { readonly path: string; readonly wal: WalReport; readonly isSet: boolean },
  ) {
    this.#database = database;
    this.#log = `${state.path}-wal`;
    this.#hasLog = state.wal.completeFrames > 0;
    this.#isSet = state.isSet;
  }

  get isSet(): boolean {
    return this.#isSet;
  }

  /** Returns when it is in the database; throws when it is not. */
  set(): void {
    if (this.#isSet) return;
    if (!this.#hasLog) writeMeta(this.#database, "wal", noWal);
    const lineage = readLineage(this.#log);
    if (lineage === undefined) throw new Error(`${this.#log} has no header`);
    writeMeta(this.#database, "wal", lineage);
    this.#move();
    this.#isSet = true;
  }

  /**
   * Called before the database is closed in order. Everything is moved into the database before it says so: a kill in between, or while
   * SQLite moves what says so, leaves a log that is still named, or whose pages are all in the database.
   */
  clear(): void {
    // Opened by a new version, and not yet used by it.
    if (readMeta(this.#database, "wal") === undefined) this.set();
    const lineage = readMeta(this.#database, "wal");
    if (lineage === "damaged" || !isWalInUse(lineage)) return;
    this.#move();
    writeMeta(this.#database, "wal", closedWal(lineage));
    this.#isSet = false;
  }

  #move(): void {
    const moved = this.#database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
    if (moved?.["log"] !== moved?.["checkpointed"])
      throw new Error(`${this.#log} could not be moved into the database`);
  }
}
