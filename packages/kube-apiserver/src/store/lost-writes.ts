// SPDX-License-Identifier: Apache-2.0
import { existsSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { type AcknowledgedMark, readAcknowledged } from "./acknowledged.ts";
import { closedWal, isWalInUse, lastRevision, readMeta, showIdentity } from "./meta.ts";
import { StoreError } from "./store-error.ts";
import type { WalReport } from "./wal-check.ts";

/**
 * Where it is unknown what clients have seen, a store continues this many revisions later: no client may see a revision twice, and a watch
 * that resumes must list again.
 */
export const revisionGap = 1_000_000;

/** Writes that were acknowledged, and are or may be no longer there. */
export interface Loss {
  readonly error: StoreError;
  /** Clients may have seen revisions up to here. */
  readonly resumesAfter: number;
  /** The write-ahead log is of another store, and is put aside when the loss is accepted. */
  readonly isForeignLog?: boolean;
}

/** The files of a store, none of them open. */
interface StoreFiles {
  readonly path: string;
  readonly shownAs: string;
  readonly acknowledged: string;
  readonly wal: WalReport;
}

/** What a store looks like before it is opened for writing. */
export interface Survey {
  readonly loss: Loss | undefined;
  /** What cannot be checked although nothing is known to be lost. */
  readonly doubt: string | undefined;
  /** Whether the database itself, without its write-ahead log, says which log it uses. */
  readonly isMarked: boolean;
}

/**
 * Whether the database, its write-ahead log and the marker belong together, and nothing is missing. Looks before anything is opened for
 * writing: closing it again would move what is left of the write-ahead log into the database.
 */
export function survey(files: StoreFiles): Survey {
  const { path, acknowledged, wal } = files;
  const marker = readAcknowledged(acknowledged);
  const alone = look(immutable(path));
  const whole = wal.completeFrames === 0 ? alone : look(path);
  const seen = { ...files, marker, alone, whole };
  const isUnchecked = marker === undefined && isInUse(alone);
  return {
    loss: lossOf(seen),
    doubt: isUnchecked
      ? `${shownMarker(files)} is missing or damaged: whether the last writes before the crash are there cannot be checked`
      : undefined,
    isMarked: wal.completeFrames > 0 && alone?.wal === wal.lineage && whole?.wal === wal.lineage,
  };
}

/** What a database says; undefined when it cannot be read, which the opening will explain unless the log repairs it. */
interface View {
  readonly revision: number;
  readonly identity: number | undefined;
  readonly wal: number | undefined;
}

/** Whether a server has used it, and did not stop in order. */
const isInUse = (view: View | undefined): boolean => isWalInUse(view?.wal);

interface Seen extends StoreFiles {
  readonly marker: AcknowledgedMark | undefined;
  /** The database without its write-ahead log. */
  readonly alone: View | undefined;
  /** The database with its write-ahead log. */
  readonly whole: View | undefined;
}

function lossOf(seen: Seen): Loss | undefined {
  const { marker, alone, whole, wal } = seen;
  if (isForeignLog(seen)) return foreignLog(seen);
  if (whole === undefined) return undefined;
  if (!isOf(marker, whole)) return foreignMarker(seen, whole);
  const known = Math.max(marker?.revision ?? 0, alone?.revision ?? 0);
  if (known > whole.revision) return { error: lostError(seen.shownAs, whole.revision, known), resumesAfter: known };
  return isInUse(alone) && wal.completeFrames === 0 && marker === undefined ? missingLog(seen, whole) : undefined;
}

/**
 * A log belongs to the database that names its lineage, in use or closed. A kill may leave a log that is not yet named: of a store that was
 * never used since an earlier version, and before the first commit, when all of the log is that it names itself. And it may leave a database
 * that cannot be read without its log, of which a part was moved.
 */
function isForeignLog({ wal, alone, whole }: Seen): boolean {
  if (wal.completeFrames === 0 || (alone ?? whole)?.identity === undefined) return false;
  if (names(alone, wal)) return false;
  if (whole === undefined || (alone !== undefined && alone.identity !== whole.identity)) return true;
  if ((alone ?? whole).wal === undefined) return false;
  return alone === undefined ? !names(whole, wal) : wal.rounds !== 0 || alone.revision !== whole.revision;
}

/** Whether a database says that a log is its own. */
function names(view: View | undefined, { lineage }: WalReport): boolean {
  return view?.wal !== undefined && lineage !== undefined && [lineage, closedWal(lineage)].includes(view.wal);
}

/** A marker of an earlier version does not say of which store it is. */
function isOf(marker: AcknowledgedMark | undefined, view: View): boolean {
  return marker?.identity === undefined || view.identity === undefined || marker.identity === view.identity;
}

const advice = "restore both from a backup, or add --accept-data-loss once to continue without these writes";

/** The store ends too early. */
export function lostError(path: string, found: number, acknowledged: number): StoreError {
  const lost = `the store ${path} ends at revision ${found}, but writes up to revision ${acknowledged} were acknowledged`;
  const why = `${path}-wal, or ${path} itself, was removed, emptied or replaced by an older one`;
  return new StoreError("lost", `${lost}: ${why}; the files were left as they are: ${advice}`);
}

/** There is a log, and not the database that it belongs to. */
export function missingError(path: string): StoreError {
  const text = `the store ${path} is missing, but its write-ahead log ${path}-wal is there, with writes that were acknowledged`;
  return new StoreError("lost", `${text}; the files were left as they are: ${advice}`);
}

/** What messages call the marker: read is a copy of it where the directory cannot be written. */
function shownMarker({ shownAs, acknowledged }: StoreFiles): string {
  return join(dirname(shownAs), basename(acknowledged));
}

function missingLog(seen: Seen, whole: View): Loss {
  const { shownAs } = seen;
  const what = `the store ${shownAs} ends at revision ${whole.revision}, and its server did not stop in order`;
  const why = `${shownAs}-wal and ${shownMarker(seen)} are missing or empty, so writes that were acknowledged after it may be lost`;
  const error = new StoreError("lost", `${what}: ${why}; the files were left as they are: ${advice}`);
  return { error, resumesAfter: afterGap(whole) };
}

function foreignLog({ shownAs, marker, alone, whole, wal }: Seen): Loss {
  const own = alone?.identity ?? marker?.identity;
  const isKnown = own !== undefined && whole?.identity !== undefined && own !== whole.identity;
  const [theirs, ours] = isKnown
    ? [`the store ${showIdentity(whole.identity)}`, `the store ${showIdentity(own)}`]
    : [`log ${lineageText(wal.lineage)}`, `log ${lineageText(alone?.wal)}`];
  const what = `${shownAs}-wal is the write-ahead log of another database (${theirs}) than ${shownAs} (${ours})`;
  const why = `writes that were acknowledged after revision ${alone?.revision ?? "unknown"} are lost with the log that it replaced`;
  const error = new StoreError("lost", `${what}: ${why}; the files were left as they are: ${advice}`);
  const found = alone ?? whole;
  const isOurs = marker !== undefined && found !== undefined && isOf(marker, found);
  const resumesAfter = isOurs ? Math.max(marker.revision, found.revision) : afterGap(found);
  return { error, resumesAfter, isForeignLog: true };
}

function foreignMarker(seen: Seen, whole: View): Loss {
  const { shownAs, marker } = seen;
  const [ours, theirs] = [whole.identity, marker?.identity].map((identity = 0) => showIdentity(identity));
  const what = `${shownAs} is the store ${ours}, but ${shownMarker(seen)} is of the store ${theirs}`;
  const why = `one of them was copied from another data directory, so writes that were acknowledged up to revision ${marker?.revision} may be lost`;
  const error = new StoreError("lost", `${what}: ${why}; the files were left as they are: ${advice}`);
  return { error, resumesAfter: Math.max(marker?.revision ?? 0, afterGap(whole)) };
}

/** Of a store in which nothing was ever written, no client has seen anything. */
function afterGap(view: View | undefined): number {
  const found = view?.revision ?? 1;
  const isNew = found === 1 && !isInUse(view);
  return isNew ? found : found + revisionGap;
}

const lineageText = (wal: number | undefined): string => (isWalInUse(wal) ? wal.toString(16).padStart(8, "0") : "none");

/** SQLite reads such a file without its write-ahead log. */
function immutable(path: string): URL {
  const url = pathToFileURL(path);
  url.searchParams.set("immutable", "1");
  return url;
}

function look(path: string | URL): View | undefined {
  const index = typeof path === "string" && !existsSync(`${path}-shm`) ? `${path}-shm` : undefined;
  try {
    using database = new DatabaseSync(path, { readOnly: true, timeout: 0 });
    const [identity, wal] = [readMeta(database, "identity"), readMeta(database, "wal")];
    if (identity === "damaged" || wal === "damaged") return undefined;
    return { revision: lastRevision(database), identity, wal };
  } catch {
    return undefined;
  } finally {
    // Created by readers; not needed while the process has the log to itself. One that was there may be in use by another program.
    if (index !== undefined) rmSync(index, { force: true });
  }
}
