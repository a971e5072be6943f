// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A folder that is gone when the test ends. */
export interface TempFolder extends Disposable {
  readonly path: string;
  /** Writes a file, with the folders it needs, and returns its path. */
  write(name: string, text: string): string;
}

/** Makes a folder for one test, with files by name. */
export function tempFolder(files: Readonly<Record<string, string>> = {}): TempFolder {
  const path = mkdtempSync(join(tmpdir(), "purlin-test-"));
  const write = (name: string, text: string): string => {
    const file = join(path, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  for (const [name, text] of Object.entries(files)) write(name, text);
  return { path, write, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
