// SPDX-License-Identifier: Apache-2.0
import { existsSync, rmSync, statSync } from "node:fs";
import { backup, DatabaseSync, type StatementSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { Acknowledged, lostError, readAcknowledged } from "./acknowledged.ts";
import { FilesInPlace } from "./files-in-place.ts";
import { migrate } from "./schema.ts";
import { StoreError } from "./store-error.ts";
import { checkWal, type WalReport } from "./wal-check.ts";

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
 * A commit that finds this many pages in the write-ahead log moves them into the database, and blocks for tens of
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
  readonly #setCompacted: StatementSync;
  readonly #files: FilesInPlace;
  readonly #acknowledged: Acknowledged | undefined;

  /** Opens a log made by `createChangeLog`; `damaged`, `foreign` or `newer` when it cannot be used. */
  constructor(options: ChangeLogOptions) {
    this.#path = options.shownAs ?? options.path;
    const { unfinishedFrames } = requireIntactFiles(options);
    requireNothingLost(options);
    this.#database = new DatabaseSync(options.path, { timeout: 0 });
    try {
      // Exclusive: no other process may write behind our back, and no shared memory file is needed.
      this.#database.exec(
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;" +
          `PRAGMA checkpoint_fullfsync = ON; PRAGMA journal_size_limit = ${walPages * pageBytes};` +
          `PRAGMA wal_autocheckpoint = ${walPages}`,
      );
      if (options.maxBytes !== undefined) {
        this.#database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(options.maxBytes / pageBytes))}`);
      }
      migrate(this.#database, this.#path);
      this.#requireIntactPages();
      this.#insert = this.#database.prepare("INSERT INTO change VALUES (?, ?, ?, ?, ?, ?)");
      this.#delete = this.#database.prepare("DELETE FROM change WHERE revision = ?");
      this.#setCompacted = this.#database.prepare("INSERT OR REPLACE INTO meta VALUES ('compacted', ?, ?)");
      this.#requireAcknowledged(options);
      this.#files = new FilesInPlace(options.path);
      this.#acknowledged = this.#keepAcknowledged(options);
      // Only now: a store that does not open has not dropped anything.
      if (unfinishedFrames > 0) {
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
    const row = this.#compactedRow();
    const value = Number(row?.["value"] ?? 1);
    if (row !== undefined && crc32(String(value)) !== row["checksum"]) {
      throw damagedError(this.#path, "the revision where history begins has a wrong checksum");
    }
    return value;
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
        this.#setCompacted.run(commit.compactedRevision, crc32(String(commit.compactedRevision)));
      }
      this.#database.exec("COMMIT");
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
    const last = commit.changes.at(-1);
    if (last !== undefined) this.#acknowledged?.record(last.revision);
  }

  /** Whether the files are still where they were opened. */
  problem(): string | undefined {
    return this.#files.problem();
  }

  freeBytes(): number {
    return Number(this.#database.prepare("PRAGMA freelist_count").get()?.["freelist_count"] ?? 0) * pageBytes;
  }

  /** Moves what is in the write-ahead log into the database, so that the next start has less to do. */
  checkpoint(): void {
    this.#database.exec("PRAGMA wal_checkpoint(PASSIVE)");
  }

  /** SQLite repeats in the copy what is committed meanwhile: it holds the last commit before the copy was complete. */
  async copyTo(path: string): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return void (await backup(this.#database, path, { rate: copiedPages }));
      } catch (error) {
        if (sqliteCode(error) !== sqliteOk || tries === mostCopyTries) throw error;
      }
      await delay(1);
    }
  }

  close(): void {
    this.#database.close();
    this.#acknowledged?.close();
  }

  /** `lost` when the store ends before the last acknowledged revision, unless that is accepted: then it continues after that revision. */
  #requireAcknowledged({ acknowledged, acceptsLoss = false, onWarning }: ChangeLogOptions): void {
    const promised = acknowledged === undefined ? undefined : readAcknowledged(acknowledged);
    const found = lastRevision(this.#database);
    if (promised === undefined || promised <= found) return;
    const lost = lostError(this.#path, found, promised);
    if (!acceptsLoss) throw lost;
    onWarning?.(`${this.#path}: writes between revision ${found} and ${promised} are lost, as was accepted`);
    // Clients have seen these revisions: none may be used again, and a watch that resumes at one must list again.
    this.#setCompacted.run(promised, crc32(String(promised)));
  }

  #keepAcknowledged({ acknowledged }: ChangeLogOptions): Acknowledged | undefined {
    if (acknowledged === undefined) return undefined;
    const marker = new Acknowledged(acknowledged);
    marker.record(lastRevision(this.#database));
    return marker;
  }

  #compactedRow(): ReturnType<StatementSync["get"]> {
    try {
      return this.#database.prepare("SELECT value, checksum FROM meta WHERE name = 'compacted'").get();
    } catch (error) {
      throw openError(this.#path, error);
    }
  }

  #requireIntactPages(): void {
    const result = this.#database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
    if (result !== "ok") throw damagedError(this.#path, String(result).replaceAll("\n", " "));
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
  } finally {
    database.close();
  }
}

const sqliteError = 1;
const sqliteBusy = 5;
const sqliteCorrupt = 11;
const sqliteFormat = 24;
const sqliteNotadb = 26;
/** A database that is whole gives none of these when it is opened; SQLITE_ERROR is a table that is not as it should be. */
const damage: ReadonlySet<number | undefined> = new Set([sqliteError, sqliteCorrupt, sqliteFormat, sqliteNotadb]);

/** The primary result code of an SQLite error; undefined for any other error. */
export function sqliteCode(error: unknown): number | undefined {
  const code = (error as { readonly errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : undefined;
}

function openError(path: string, error: unknown): unknown {
  const code = sqliteCode(error);
  if (damage.has(code)) return damagedError(path, (error as Error).message, error);
  if (code === sqliteBusy) {
    return new StoreError("locked", `${path} is in use by another program: stop it first`, { cause: error });
  }
  return error;
}

function damagedError(path: string, what: string, cause?: unknown): StoreError {
  const text = `the store ${path} is damaged and was left as it is (${what}): restore a backup, or move it away to start empty`;
  return new StoreError("damaged", text, { cause });
}

/** Before anything is opened for writing: closing it again would move what is left of the write-ahead log into the database. */
function requireNothingLost({ path, shownAs = path, acknowledged, acceptsLoss = false }: ChangeLogOptions): void {
  const promised = acknowledged === undefined ? undefined : readAcknowledged(acknowledged);
  if (promised === undefined || acceptsLoss || !existsSync(`${path}-wal`)) return;
  const found = peekRevision(path);
  if (found !== undefined && found < promised) throw lostError(shownAs, found, promised);
}

/** The last revision of a log that nothing else has open; undefined when it cannot be read, which the opening itself will explain. */
function peekRevision(path: string): number | undefined {
  try {
    using database = new DatabaseSync(path, { readOnly: true, timeout: 0 });
    return lastRevision(database);
  } catch {
    return undefined;
  } finally {
    // Created by readers; not needed while the process has the log to itself.
    rmSync(`${path}-shm`, { force: true });
  }
}

function lastRevision(database: DatabaseSync): number {
  const last = database.prepare("SELECT max(revision) AS last FROM change").get()?.["last"];
  const compacted = database.prepare("SELECT value FROM meta WHERE name = 'compacted'").get()?.["value"];
  return Math.max(Number(last ?? 0), Number(compacted ?? 1));
}

function requireIntactFiles({ path, shownAs = path }: ChangeLogOptions): WalReport {
  if (statSync(path).size === 0) throw damagedError(shownAs, "the file is empty");
  const wal = checkWal(`${path}-wal`);
  if (wal.damaged) throw damagedError(shownAs, `commits in the middle of ${shownAs}-wal cannot be read`);
  return wal;
}
