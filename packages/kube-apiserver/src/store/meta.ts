// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";

/**
 * What the database says about itself:
 * - `compacted`: up to here history is incomplete
 * - `identity`: a random number, given to each store when it is made
 * - `wal`: the lineage of the write-ahead log in use (see WalReport), `closedWal` of the last one when the store was closed, or `noWal` before
 *   the first
 */
export type MetaName = "compacted" | "identity" | "wal";

/** The value of `wal` before there was a log. */
export const noWal = -1;

/** The value of `wal` while everything that was in this log is in the database itself. A kill may leave the log behind. */
export const closedWal = (lineage: number): number => noWal - 1 - lineage;

/** Whether a value of `wal` names a log in use. */
export const isWalInUse = (wal: number | undefined): wal is number => wal !== undefined && wal > noWal;

/** The value of a row; undefined where there is none, and `damaged` where it is not as it was written. */
export function readMeta(database: DatabaseSync, name: MetaName): number | "damaged" | undefined {
  const row = database.prepare("SELECT value, checksum FROM meta WHERE name = ?").get(name);
  if (row === undefined) return undefined;
  const value = Number(row["value"]);
  return crc32(String(value)) === row["checksum"] ? value : "damaged";
}

export function writeMeta(database: DatabaseSync, name: MetaName, value: number): void {
  database.prepare("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)").run(name, value, crc32(String(value)));
}

const identityBytes = 6;

export const newIdentity = (): number => randomBytes(identityBytes).readUIntBE(0, identityBytes);

/** An identity as it is shown and stored in text: always as long. */
export const showIdentity = (identity: number): string => identity.toString(16).padStart(2 * identityBytes, "0");

/** The last revision ever given, also when nothing is left of its change. */
export function lastRevision(database: DatabaseSync): number {
  const last = database.prepare("SELECT max(revision) AS last FROM change").get()?.["last"];
  const compacted = readMeta(database, "compacted");
  return Math.max(Number(last ?? 0), typeof compacted === "number" ? compacted : 1);
}
