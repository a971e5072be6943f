// SPDX-License-Identifier: Apache-2.0
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { ChangeLog, type ChangeLogOptions, type Log, type LoggedChange } from "./change-log.ts";

/**
 * The log in a directory that cannot be written. SQLite reads a write-ahead log only where it may write, and what is in there was
 * promised to somebody: so a copy is read, with all the checks of a start, and is gone when it was. Nothing can be committed.
 */
export function openReadOnlyLog(options: ChangeLogOptions): Log {
  const folder = mkdtempSync(join(tmpdir(), "purlin-read-only-"));
  try {
    const path = join(folder, basename(options.path));
    copyFileSync(options.path, path);
    if (existsSync(`${options.path}-wal`)) {
      copyFileSync(`${options.path}-wal`, `${path}-wal`);
    }
    const acknowledged = keptCopy(options.acknowledged, folder);
    const copy = new ChangeLog({ ...options, path, shownAs: options.path, ...(acknowledged && { acknowledged }) });
    try {
      return contentsOf(copy.compactedRevision, [...copy.read()]);
    } finally {
      copy.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A log that is opened writes its marker. */
function keptCopy(marker: string | undefined, folder: string): string | undefined {
  if (marker === undefined || !existsSync(marker)) return undefined;
  const path = join(folder, basename(marker));
  copyFileSync(marker, path);
  return path;
}

function contentsOf(compactedRevision: number, rows: LoggedChange[]): Log {
  return {
    compactedRevision,
    // Once: who reads them keeps them.
    read: () => rows.splice(0),
    commit: () => {
      throw new Error("the log is read-only");
    },
    problem: () => undefined,
    freeBytes: () => 0,
    checkpoint: () => {},
    close: () => {},
  };
}
