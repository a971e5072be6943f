// SPDX-License-Identifier: Apache-2.0

import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
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
