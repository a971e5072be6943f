// SPDX-License-Identifier: Apache-2.0
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** A file that a program's output is appended to. */
export interface LogFile {
  add(text: string): void;
}

/**
 * Appends to a file; when it is full it becomes `FILE.1` and a new one begins, so the two never hold more than twice the
 * limit. A disk that is full or a folder that is gone loses lines and nothing else. The file is there from the start: who
 * looks for it sees that nothing was written.
 */
export function openLogFile(path: string, maxBytes: number): LogFile {
  let size = sizeOf(path);
  const add = (text: string): void => {
    try {
      if (size > maxBytes) {
        renameSync(path, `${path}.1`);
        size = 0;
      }
      if (size === 0) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      appendFileSync(path, text, { mode: 0o600 });
      size += Buffer.byteLength(text);
    } catch {
      // A log that cannot be written must not stop what it is about.
      size = sizeOf(path);
    }
  };
  add("");
  return { add };
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}
