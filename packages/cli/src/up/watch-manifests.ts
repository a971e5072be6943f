// SPDX-License-Identifier: Apache-2.0
import { statSync, watch } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { watchFolder } from "./watch-folder.ts";

/** Editors write a file in several steps, and a branch changes many files; what happens within this time is one change. */
const settleMs = 150;

/** Calls back when a manifest under one of the paths is saved, added or removed. Folders are watched with all below. */
export function watchManifests(paths: readonly string[], cwd: string, onChange: () => void): Disposable {
  let timer: NodeJS.Timeout | undefined;
  const changed = (name: string | null, only: string | undefined): void => {
    const matters = only === undefined ? /\.ya?ml$|(^|\/)\.purlinignore$/.test(name ?? "") : name === only;
    if (!matters || (name ?? "").includes("node_modules")) return;
    clearTimeout(timer);
    timer = setTimeout(onChange, settleMs);
  };
  const watchers = paths.map((path) => watchPath(resolve(cwd, path), changed));
  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      for (const watcher of watchers) watcher?.[Symbol.dispose]();
    },
  };
}

type Changed = (name: string | null, only: string | undefined) => void;

function watchPath(path: string, changed: Changed): Disposable | undefined {
  try {
    if (statSync(path).isDirectory()) return watchFolder(path, (name) => changed(name, undefined));
    // A file is watched through its folder, because many editors write a new one and move it over the old one.
    const watcher = watch(dirname(path), (_, name) => changed(name, basename(path)));
    watcher.on("error", () => watcher.close());
    return { [Symbol.dispose]: () => watcher.close() };
  } catch {
    // Gone since it was read, or more folders than the system watches: saves are not noticed, nothing else is lost.
    return undefined;
  }
}
