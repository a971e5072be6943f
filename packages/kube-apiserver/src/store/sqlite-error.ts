// SPDX-License-Identifier: Apache-2.0
import { StoreError } from "./store-error.ts";

const sqliteError = 1;
export const sqliteBusy = 5;
export const sqliteFull = 13;
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

/** What a failed opening says: damage by its name. */
export function openError(path: string, error: unknown): unknown {
  const code = sqliteCode(error);
  if (damage.has(code)) return damagedError(path, (error as Error).message, error);
  if (code === sqliteBusy) {
    return new StoreError("locked", `${path} is in use by another program: stop it first`, { cause: error });
  }
  return error;
}

export function damagedError(path: string, what: string, cause?: unknown): StoreError {
  const text = `the store ${path} is damaged and was left as it is (${what}): restore a backup, or move it away to start empty`;
  return new StoreError("damaged", text, { cause });
}
