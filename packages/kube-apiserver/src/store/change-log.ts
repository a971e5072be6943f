// SPDX-License-Identifier: Apache-2.0
import { renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync, type StatementSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { Acknowledged, readAcknowledged } from "./acknowledged.ts";
import { FilesInPlace } from "./files-in-place.ts";
import { type Loss, lostError, type Survey, survey } from "./lost-writes.ts";
import { lastRevision, type MetaName, noWal, readMeta, writeMeta } from "./meta.ts";
import { migrate } from "./schema.ts";
import { damagedError, openError, sqliteCode } from "./sqlite-error.ts";
import { syncDirectory } from "./sync-directory.ts";
import { checkWal, type WalReport } from "./wal-check.ts";
import { WalMark } from "./wal-mark.ts";

/** One row of the log. */
export interface LoggedChange {
  readonly revision: number;
  readonly key: string;
  readonly createRevision: number;
  readonly expiresAt: number | undefined;
  /** Undefined: the key was deleted. */
  readonly bytes: Uint8Array | undefined;
}

/** What one commit writes, all of it or nothing. */
export interface LogCommit {
  readonly changes: readonly LoggedChange[];
  /** Revisions no longer needed. */
  readonly obsolete: readonly number[];
  readonly compactedRevision: number;
}

export interface ChangeLogOptions {
  readonly path: string;
  /** Commits fail, as on a full disk, when the file would grow beyond this. */
  readonly maxBytes?: number | undefined;
  /** Called with what could not be recovered. */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** What errors and warnings call the file. Default: its path. */
  readonly shownAs?: string;
  /** Where the last acknowledged revision is kept. Default: nowhere. */
  readonly acknowledged?: string;
  /** Go on with a store that ends before the last acknowledged revision, after that revision. */
  readonly acceptsLoss?: boolean;
}

/** What the store needs of its log. */
export interface Log {
  /** Up to here history is incomplete. */
  readonly compactedRevision: number;
  /** Every row, in revision order. */
  read(): Iterable<LoggedChange>;
  /** Returns when everything is on disk; throws when nothing is. */
  commit(commit: LogCommit): void;
  /** Why nothing can be committed now, as far as that is known without trying. */
  problem(): string | undefined;
  /** Bytes that can be written without more room on the disk. */
  freeBytes(): number;
  checkpoint(): void;
  /** Copies the whole log to a file that does not exist, while commits continue. */
  copyTo(path: string): Promise<void>;
  close(): void;
}

const pageBytes = 4096;
/**
 * A commit that leaves this many pages in the write-ahead log moves them into the database, and blocks for tens of
 * milliseconds. At 16 MiB that is one write in thousands; a server with quiet moments never gets there.
 */
const walPages = 4096;
/** Pages that a copy reads at once. Commits wait for that long. */
const copiedPages = 128;
/**
 * A copy whose first step meets a transaction that commits fails, and Node reports the code of success ("not an error"). Nothing is copied
 * by then, so the copy begins again.
 */
const sqliteOk = 0;
const mostCopyTries = 1000;

/**
 * The durable side of the store: a log of changes in SQLite. Every call blocks, on purpose: a commit takes a fraction of a
 * millisecond on a disk made for it, and measured slower through another thread (docs/adr/0010-store.md).
 */
export class ChangeLog implements Log {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;
  readonly #countFrames: StatementSync;
  readonly #files: FilesInPlace;
  readonly #mark: WalMark | undefined;
  readonly #acknowledged: Acknowledged | undefined;

  /** Opens a log made by `createChangeLog`; `damaged`, `foreign`, `newer` or `lost` when it cannot be used. */
  constructor(options: ChangeLogOptions) {
    this.#path = options.shownAs ?? options.path;
    const { loss, doubt, isMarked, wal } = requireNothingLost(options, requireIntactFiles(options));
    this.#database = new DatabaseSync(options.path, { timeout: 0 });
    try {
      // Exclusive: no other process may write behind our back, and no shared memory file is needed.
      this.#database.exec(
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;" +
          `PRAGMA checkpoint_fullfsync = ON; PRAGMA journal_size_limit = ${walPages * pageBytes};` +
          // Not by SQLite itself: it would be unknown which changes of the file are its own.
          "PRAGMA wal_autocheckpoint = 0",
      );
      if (options.maxBytes !== undefined) {
        this.#database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(options.maxBytes / pageBytes))}`);
      }
      migrate(this.#database, this.#path);
      this.#requireIntactPages();
      this.#insert = this.#database.prepare("INSERT INTO change VALUES (?, ?, ?, ?, ?, ?)");
      this.#delete = this.#database.prepare("DELETE FROM change WHERE revision = ?");
      this.#countFrames = this.#database.prepare("PRAGMA wal_checkpoint(NOOP)");
      // Files of no data directory (snapshots, copies) have no log that could go missing.
      const hasMark = options.acknowledged !== undefined;
      this.#mark = hasMark ? new WalMark(this.#database, { path: options.path, wal, isSet: isMarked }) : undefined;
      this.#resume(options, loss);
      this.#acknowledged = this.#keepAcknowledged(options);
      this.#files = new FilesInPlace(options.path, () => this.#frames());
      // Only now: a store that does not open has not dropped anything.
      if (doubt !== undefined) options.onWarning?.(`${this.#path}: ${doubt}`);
      if (wal.unfinishedFrames > 0) {
        options.onWarning?.(
          `${this.#path}: dropped the last commit in the write-ahead log, which is incomplete; expected after a power cut ` +
            "(the commit was not acknowledged), otherwise a sign of disk damage",
        );
      }
    } catch (error) {
      this.#database.close();
      throw openError(this.#path, error);
    }
  }

  /** Up to here history is incomplete. A new log begins at 1: revision 0 would mean "any" to clients. */
  get compactedRevision(): number {
    const value = this.#intactMeta("compacted", "the revision where history begins");
    return value ?? 1;
  }

  /** Every row, in revision order, each checked against its checksum. */
  *read(): Generator<LoggedChange> {
    try {
      const statement = this.#database.prepare(
        "SELECT revision, key, created, expires, value, checksum FROM change ORDER BY revision",
      );
      statement.setReturnArrays(true);
      for (const row of statement.iterate() as Iterable<unknown>) {
        yield this.#checked(row as Row);
      }
    } catch (error) {
      throw openError(this.#path, error);
    }
  }

  /** Returns when everything is on disk; throws when nothing is. */
  commit(commit: LogCommit): void {
    const problem = this.problem();
    if (problem !== undefined) throw new Error(problem);
    try {
      this.#begin();
      this.#write(commit);
    } finally {
      this.#files.committed();
    }
    const last = commit.changes.at(-1);
    if (last !== undefined) this.#acknowledged?.record(last.revision);
    this.#checkpointIfDue();
  }

  #write(commit: LogCommit): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      // Deleting first leaves room for what comes, when there is little.
      for (const revision of commit.obsolete) {
        this.#delete.run(revision);
      }
      for (const change of commit.changes) {
        this.#insert.run(...rowOf(change));
      }
      if (commit.obsolete.length > 0) {
        writeMeta(this.#database, "compacted", commit.compactedRevision);
      }
      this.#database.exec("COMMIT");
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  /** Whether the files are still where they were opened, and as they were written. */
  problem(): string | undefined {
    return this.#files.problem();
  }

  freeBytes(): number {
    return Number(this.#database.prepare("PRAGMA freelist_count").get()?.["freelist_count"] ?? 0) * pageBytes;
  }

  /** Moves what is in the write-ahead log into the database, so that the next start has less to do. */
  checkpoint(): void {
    const altered = this.#files.altered();
    if (altered !== undefined) throw new Error(altered);
    try {
      this.#database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } finally {
      this.#files.checkpointed();
    }
  }

  #checkpointIfDue(): void {
    try {
      if (this.#frames() >= walPages) this.checkpoint();
    } catch {
      // The disk refuses. The commit is durable, and the next one tries again.
    }
  }

  /** Frames in the write-ahead log as the database knows them, without a look at the file. */
  #frames(): number {
    return Number(this.#countFrames.get()?.["log"] ?? 0);
  }

  /** SQLite repeats in the copy what is committed meanwhile: it holds the last commit before the copy was complete. */
  async copyTo(path: string): Promise<void> {
    const altered = this.#files.altered();
    if (altered !== undefined) throw new Error(altered);
    for (let tries = 1; ; tries++) {
      try {
        await backup(this.#database, path, { rate: copiedPages });
        return closeCopy(path);
      } catch (error) {
        if (sqliteCode(error) !== sqliteOk || tries === mostCopyTries) throw error;
      }
      await delay(1);
    }
  }

  close(): void {
    if (this.problem() === undefined) this.#clearMark();
    this.#files.closeAround(() => this.#database.close());
    this.#acknowledged?.close();
  }

  #clearMark(): void {
    try {
      this.#mark?.clear();
    } catch {
      // The disk refuses. What was acknowledged is on it, and the marker proves that at the next start.
    } finally {
      this.#files.checkpointed();
    }
  }

  /** Before the first commit: from then on, a missing log is noticed. */
  #begin(): void {
    if (this.#mark === undefined || this.#mark.isSet) return;
    try {
      this.#mark.set();
    } finally {
      this.#files.checkpointed();
    }
    this.#acknowledged?.sync();
    syncDirectory(dirname(this.#path));
  }

  /** After a loss that was accepted: clients have seen revisions up to here, none may be used again, and watches must list again. */
  #resume(options: ChangeLogOptions, surveyed: Loss | undefined): void {
    const found = lastRevision(this.#database);
    const loss = surveyed ?? shortfall(options, found);
    if (loss === undefined) return;
    if (options.acceptsLoss !== true) throw loss.error;
    options.onWarning?.(`${this.#path}: writes after revision ${found} are lost, as was accepted`);
    this.#mark?.set();
    writeMeta(this.#database, "compacted", Math.max(found, loss.resumesAfter));
  }

  #keepAcknowledged({ acknowledged }: ChangeLogOptions): Acknowledged | undefined {
    if (acknowledged === undefined) return undefined;
    const identity = this.#intactMeta("identity", "the identity of the store");
    return new Acknowledged(acknowledged, { revision: lastRevision(this.#database), identity });
  }

  #intactMeta(name: MetaName, what: string): number | undefined {
    const value = readMeta(this.#database, name);
    if (value === "damaged") throw damagedError(this.#path, `${what} has a wrong checksum`);
    return value;
  }

  #requireIntactPages(): void {
    const result = this.#database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
    if (result !== "ok") throw damagedError(this.#path, String(result).replaceAll("\n", " "));
    this.#intactMeta("wal", "the name of the write-ahead log");
  }

  #checked(row: Row): LoggedChange {
    const [revision, key, createRevision, expires, value, checksum] = row;
    // A flipped bit may change the type of a column, which SQLite does not enforce.
    const bytes = value instanceof Uint8Array ? value : undefined;
    const change = { revision, key, createRevision, expiresAt: expires ?? undefined, bytes };
    if ((value !== null && bytes === undefined) || checksumOf(change) !== checksum) {
      throw damagedError(this.#path, `revision ${revision} of "${key}" has a wrong checksum`);
    }
    return change;
  }
}

type Row = readonly [number, string, number, number | null, unknown, number];

function rowOf(change: LoggedChange): [number, string, number, number | null, Uint8Array | null, number] {
  const { revision, key, createRevision, expiresAt, bytes } = change;
  return [revision, key, createRevision, expiresAt ?? null, bytes ?? null, checksumOf(change)];
}

// SQLite guards its write-ahead log with checksums but not its pages: a flipped bit in a value would be served as it is.
function checksumOf(change: LoggedChange): number {
  const head = `${change.revision} ${change.createRevision} ${change.expiresAt ?? ""} ${change.key}`;
  return crc32(change.bytes ?? "deleted", crc32(head));
}

/** Writes the schema into an empty file; in one piece only when it returns. */
export function createChangeLog(path: string): void {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON`);
    migrate(database, path);
    writeMeta(database, "wal", noWal);
  } finally {
    database.close();
  }
}

/** `lost` when something is missing, unless that is accepted: then a log of another database is put aside. */
function requireNothingLost(options: ChangeLogOptions, wal: WalReport): Survey & { readonly wal: WalReport } {
  const { path, shownAs = path, acknowledged, acceptsLoss = false } = options;
  if (acknowledged === undefined) return { loss: undefined, doubt: undefined, isMarked: false, wal };
  const found = survey({ path, shownAs, acknowledged, wal });
  if (found.loss !== undefined && !acceptsLoss) throw found.loss.error;
  if (found.loss?.isForeignLog !== true) return { ...found, wal };
  renameSync(`${path}-wal`, `${path}-wal.lost`);
  return { ...found, wal: checkWal(`${path}-wal`) };
}

/** What only the opening could find out. */
function shortfall({ path, shownAs = path, acknowledged }: ChangeLogOptions, found: number): Loss | undefined {
  const promised = acknowledged === undefined ? undefined : readAcknowledged(acknowledged);
  if (promised === undefined || promised.revision <= found) return undefined;
  return { error: lostError(shownAs, found, promised.revision), resumesAfter: promised.revision };
}

/** The copy of a store that is open has no log. */
function closeCopy(path: string): void {
  using database = new DatabaseSync(path, { timeout: 0 });
  writeMeta(database, "wal", noWal);
}

function requireIntactFiles({ path, shownAs = path }: ChangeLogOptions): WalReport {
  if (statSync(path).size === 0) throw damagedError(shownAs, "the file is empty");
  const wal = checkWal(`${path}-wal`);
  if (wal.damaged) throw damagedError(shownAs, `commits in the middle of ${shownAs}-wal cannot be read`);
  return wal;
}
