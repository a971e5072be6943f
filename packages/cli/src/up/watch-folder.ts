// SPDX-License-Identifier: Apache-2.0
import { type FSWatcher, lstatSync, readdirSync, watch } from "node:fs";
import { join, relative } from "node:path";

/**
 * Calls back with the path, relative to the folder, of what changes in a folder or below it. Hidden folders and node_modules are left
 * out. The recursive watch of Node is not used: on Linux it throws, outside of any callback, when a file becomes a link to itself.
 */
export function watchFolder(root: string, onChange: (path: string) => void): Disposable {
  const watchers = new Map<string, FSWatcher>();

  const stop = (folder: string): void => {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  };
  const add = (folder: string): void => {
    stop(folder);
    const watcher = watch(folder, (_, name) => changed(folder, name ?? ""));
    watcher.on("error", () => stop(folder));
    watchers.set(folder, watcher);
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) addBelow(join(folder, entry.name), entry.name);
    }
  };
  /** A folder that is gone again, or one more than the system watches: saves in it are not noticed, nothing else is lost. */
  const addBelow = (folder: string, name: string): void => {
    if (name.startsWith(".") || name === "node_modules") return;
    try {
      add(folder);
    } catch {
      stop(folder);
    }
  };
  const changed = (folder: string, name: string): void => {
    const path = join(folder, name);
    onChange(relative(root, path));
    if (isFolder(path)) {
      const isNew = !watchers.has(path);
      addBelow(path, name);
      if (isNew) for (const below of filesBelow(path)) onChange(relative(root, below));
    } else if (watchers.has(path)) stop(path);
  };
  add(root);
  return {
    [Symbol.dispose]() {
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Files that came with a folder, such as one that was moved here. */
function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  } catch {
    return [];
  }
}
