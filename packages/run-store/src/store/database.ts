// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { isPartDone, type Work } from "@purlin/base";
import { requireRegularFile } from "@purlin/kube-objects/files";

/** Marks a SQLite file as a store of runs: "Prun". */
const applicationId = 0x5072756e;
/** 2: small bodies are text. */
const schemaVersion = 2;

const schema = `
  CREATE TABLE run (
    id TEXT NOT NULL UNIQUE,
    xr TEXT NOT NULL,
    revision TEXT NOT NULL,
    outcome TEXT NOT NULL,
    wrote INTEGER NOT NULL,
    repeats INTEGER NOT NULL,
    last INTEGER NOT NULL,
    digest BLOB NOT NULL,
    summary TEXT NOT NULL,
    parts BLOB NOT NULL,
    body BLOB NOT NULL
  );
  CREATE INDEX run_of_xr ON run (xr, id);
  CREATE TABLE part (ref TEXT PRIMARY KEY, pack INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL, refs INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE pack (id INTEGER PRIMARY KEY, live INTEGER NOT NULL, data BLOB NOT NULL);
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
`;

/** Opens the file of a store for writing; creates it if it does not exist. Throws when it is not such a file. */
export function openDatabase(path: string): DatabaseSync {
  if (existsSync(path)) requireRegular(path);
  const database = new DatabaseSync(path);
  try {
    database.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 2000; PRAGMA wal_autocheckpoint = 4000",
    );
    const isNew = pragma(database, "application_id") === 0 && tableCount(database) === 0;
    if (isNew) {
      database.exec(
        `BEGIN; ${schema} PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${schemaVersion}; COMMIT`,
      );
    }
    requireOurs(database, path);
    database.exec(`PRAGMA user_version = ${schemaVersion}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens the file of a store for reading, also while another process writes to it. */
export function openForReading(path: string): DatabaseSync {
  if (!existsSync(path)) throw new Error(`${path} does not exist`);
  requireRegular(path);
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    requireOurs(database, path);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** SQLite would wait for a writer when it opens a FIFO. */
function requireRegular(path: string): void {
  try {
    requireRegularFile(path);
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function requireOurs(database: DatabaseSync, path: string): void {
  if (pragma(database, "application_id") !== applicationId) throw new Error(`${path} is not a store of runs`);
  const version = pragma(database, "user_version");
  if (version > schemaVersion) {
    throw new Error(
      `${path} was written by a newer version of Purlin (schema ${version}, this version has ${schemaVersion})`,
    );
  }
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}

function tableCount(database: DatabaseSync): number {
  return Number(database.prepare("SELECT count(*) AS count FROM sqlite_schema").get()?.["count"] ?? 0);
}

/** How much a store keeps. */
export interface Bounds {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  /** Runs of one composite resource. */
  readonly maxRunsPerXr: number;
}

/** The bounds unless others are given. */
export const defaultBounds: Bounds = { maxBytes: 256 * 2 ** 20, maxAgeMs: 7 * 24 * 3_600_000, maxRunsPerXr: 50 };

const refBytes = 16;
const batch = 64;
/** The bytes that a row takes beside its data. */
export const rowBytes = 96;

interface Row {
  readonly id: string;
  readonly xr: string;
  readonly revision: string;
  readonly outcome: string;
  readonly wrote: number;
  readonly last: number;
}

/** The store after a run of a composite resource was added. */
interface Added {
  readonly xr: string;
  readonly now: number;
  readonly bytes: number;
}

/** Removes runs that are too many, too old or too large. Returns the bytes that this freed. */
export function* keepWithin(database: DatabaseSync, bounds: Bounds, { xr, now, bytes }: Added): Work<number> {
  const rows = rowsOf(database, xr);
  const surplus = rows.length - bounds.maxRunsPerXr;
  const kept = keptOf(rows);
  const tooOld = rows.filter(({ id, last }) => last < now - bounds.maxAgeMs && !kept.has(id));
  const tooMany = surplus <= 0 ? [] : rows.filter(({ id }) => !kept.has(id)).slice(-surplus);
  let freed = yield* dropRuns(database, [...new Set([...tooOld, ...tooMany].map(({ id }) => id))]);
  if (bytes - freed > bounds.maxBytes) freed += yield* dropOldest(database, bytes - freed - bounds.maxBytes);
  return freed;
}

function rowOf(row: Readonly<Record<string, SQLOutputValue>>): Row {
  const text = (column: keyof Row): string => String(row[column]);
  const [id, xr, revision, outcome] = [text("id"), text("xr"), text("revision"), text("outcome")];
  return { id, xr, revision, outcome, wrote: Number(row["wrote"]), last: Number(row["last"]) };
}

/** Newest first. */
function rowsOf(database: DatabaseSync, xr: string): readonly Row[] {
  const sql = "SELECT id, xr, revision, outcome, wrote, last FROM run WHERE xr = ? ORDER BY id DESC";
  return database.prepare(sql).all(xr).map(rowOf);
}

/** The runs that are kept longest: the last, the last that failed, the last that wrote, and the first of each revision. */
function keptOf(rows: readonly Row[]): ReadonlySet<string> {
  const firsts = new Map<string, string>();
  for (const { revision, id } of rows) if (revision !== "") firsts.set(revision, id);
  const last = [rows[0], rows.find(({ outcome }) => outcome === "failed"), rows.find(({ wrote }) => wrote === 1)];
  return new Set([...last.flatMap((row) => row?.id ?? []), ...firsts.values()]);
}

/** Oldest first; runs that are worth keeping go last. */
function* dropOldest(database: DatabaseSync, bytes: number): Work<number> {
  let freed = 0;
  for (const sparing of [true, false]) {
    let after = "";
    while (freed < bytes) {
      yield;
      const rows = database
        .prepare("SELECT id, xr, revision, outcome, wrote, last FROM run WHERE id > ? ORDER BY id LIMIT ?")
        .all(after, batch)
        .map(rowOf);
      if (rows.length === 0) break;
      after = rows.at(-1)?.id ?? "";
      const spared = sparing ? sparedIn(database, rows) : new Set<string>();
      for (const { id } of rows) {
        if (freed >= bytes) break;
        if (!spared.has(id)) freed += yield* dropRuns(database, [id]);
      }
    }
  }
  return freed;
}

function sparedIn(database: DatabaseSync, rows: readonly Row[]): ReadonlySet<string> {
  const xrs = new Set(rows.map(({ xr }) => xr));
  return new Set([...xrs].flatMap((xr) => [...keptOf(rowsOf(database, xr))]));
}

/** Removes runs, and the objects that no other run has. Returns the bytes that this freed. */
function* dropRuns(database: DatabaseSync, ids: readonly string[]): Work<number> {
  let freed = 0;
  for (const id of ids) {
    const row = database
      .prepare(
        "SELECT parts, octet_length(body) + octet_length(summary) + length(parts) AS bytes FROM run WHERE id = ?",
      )
      .get(id);
    if (row === undefined) continue;
    freed += Number(row["bytes"]) + rowBytes;
    // Before its objects: on this connection, the run can be read between two parts.
    database.prepare("DELETE FROM run WHERE id = ?").run(id);
    for (const ref of refsIn(row["parts"] as Uint8Array)) {
      if (isPartDone()) yield;
      freed += releasePart(database, ref);
    }
  }
  return freed;
}

function refsIn(bytes: Uint8Array): readonly string[] {
  const hex = Buffer.from(bytes).toString("hex");
  return Array.from({ length: bytes.length / refBytes }, (_, at) =>
    hex.slice(at * refBytes * 2, (at + 1) * refBytes * 2),
  );
}

function releasePart(database: DatabaseSync, ref: string): number {
  const part = database.prepare("UPDATE part SET refs = refs - 1 WHERE ref = ? RETURNING refs, pack").get(ref);
  if (part === undefined || Number(part["refs"]) > 0) return 0;
  database.prepare("DELETE FROM part WHERE ref = ?").run(ref);
  const id = Number(part["pack"]);
  const pack = database
    .prepare("UPDATE pack SET live = live - 1 WHERE id = ? RETURNING live, length(data) AS bytes")
    .get(id);
  if (pack === undefined || Number(pack["live"]) > 0) return rowBytes;
  database.prepare("DELETE FROM pack WHERE id = ?").run(id);
  return Number(pack["bytes"]) + 2 * rowBytes;
}
