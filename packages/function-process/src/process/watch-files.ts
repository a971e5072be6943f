// SPDX-License-Identifier: Apache-2.0
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname, extname } from "node:path";

/** Editors write a file in several steps; what happens within this time counts as one save. */
const settleMs = 60;

const sourceEndings = new Set([".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", ".json"]);

/** Reports when files of a growing set are saved. */
export interface FileWatcher extends Disposable {
  add(file: string): void;
  /** After a failed start, any source file beside the watched ones may be the missing piece. */
  watchBeside(all: boolean): void;
}

/**
 * Calls back once for each save of a file that was added. Folders are watched rather than files, because many editors write
 * a new file and move it over the old one.
 */
export function watchFiles(onSave: (file: string) => void): FileWatcher {
  const names = new Map<string, Set<string>>();
  const folders = new Map<string, FSWatcher>();
  let beside = false;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  const changed = (folder: string, name: string): void => {
    const known = names.get(folder)?.has(name) === true;
    if (!known && !(beside && sourceEndings.has(extname(name)))) return;
    clearTimeout(timer);
    timer = setTimeout(() => onSave(name), settleMs);
  };
  return {
    add(file) {
      // A program that is being stopped may still report modules; watching them would keep this process alive forever.
      if (isClosed) return;
      const folder = dirname(file);
      const known = names.get(folder);
      if (known !== undefined) {
        known.add(basename(file));
        return;
      }
      const watcher = tryToWatch(folder, (name) => changed(folder, name));
      if (watcher === undefined) return;
      names.set(folder, new Set([basename(file)]));
      // A removed folder sends no more events; the next start reports what is missing.
      watcher.on("error", () => watcher.close());
      folders.set(folder, watcher);
    },
    watchBeside(all) {
      beside = all;
    },
    [Symbol.dispose]() {
      isClosed = true;
      clearTimeout(timer);
      for (const watcher of folders.values()) watcher.close();
    },
  };
}

/** Returns undefined for a folder that does not exist; a later call may succeed. */
function tryToWatch(folder: string, onChange: (name: string) => void): FSWatcher | undefined {
  try {
    return watch(folder, (_, name) => onChange(name ?? ""));
  } catch {
    return undefined;
  }
}
