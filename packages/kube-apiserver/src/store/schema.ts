// SPDX-License-Identifier: Apache-2.0
import type { DatabaseSync } from "node:sqlite";
import { newIdentity, writeMeta } from "./meta.ts";
import { StoreError } from "./store-error.ts";

/** Marks a SQLite file as ours: "Purl". */
const applicationId = 0x5075726c;

/** One step from a schema version to the next. */
export type Migration = (database: DatabaseSync) => void;

/**
 * Step n leads from version n to n + 1; a step that was released never changes.
 *
 * The log holds one row a change and nothing else. A row is deleted when a newer one of its key has made it superfluous and
 * history has forgotten both, so what is left is the present state and the recent past. No index: memory is the index.
 */
const allMigrations: readonly Migration[] = [
  (database) =>
    database.exec(`
      CREATE TABLE change (
        revision INTEGER PRIMARY KEY,
        key TEXT NOT NULL,
        created INTEGER NOT NULL,
        expires INTEGER,
        value BLOB,
        checksum INTEGER NOT NULL
      );
      CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
    `),
  (database) => writeMeta(database, "identity", newIdentity()),
];

/** Brings the database to the newest schema, or refuses if it is another program's or a newer version's. */
export function migrate(database: DatabaseSync, path: string, migrations: readonly Migration[] = allMigrations): void {
  const id = pragma(database, "application_id");
  const version = pragma(database, "user_version");
  const isNew = id === 0 && version === 0 && tableCount(database) === 0;
  if (!isNew && id !== applicationId) {
    throw new StoreError("foreign", `${path} is not a Purlin store: choose another data directory`);
  }
  if (version > migrations.length) {
    throw new StoreError(
      "newer",
      `${path} was written by a newer version of Purlin (schema ${version}, this one supports ${migrations.length}): use that version`,
    );
  }
  for (const [step, apply] of migrations.entries()) {
    if (step >= version) run(database, step + 1, apply);
  }
}

// One transaction a step: a crash in the middle leaves the version before it, whole.
function run(database: DatabaseSync, target: number, apply: Migration): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    apply(database);
    database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${target}; COMMIT`);
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

function pragma(database: DatabaseSync, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get();
  return Number(row?.[name] ?? 0);
}

function tableCount(database: DatabaseSync): number {
  return Number(database.prepare("SELECT count(*) AS count FROM sqlite_schema").get()?.["count"] ?? 0);
}
