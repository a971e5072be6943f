// SPDX-License-Identifier: Apache-2.0
import { type FSWatcher, lstatSync, readdirSync, statSync, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { findManifests, type Manifest, type ReadManifestsOptions, readManifests } from "../manifests/manifest.ts";
import { isUserError, UserError } from "../user-error.ts";

/** All manifests, and those to apply. */
export interface FileChanges {
  readonly all: readonly Manifest[];
  /** Those of files that were saved since they were last applied, or were not applied completely. */
  readonly changed: readonly Manifest[];
  /** The files of these. */
  readonly files: readonly string[];
}

/** The files of a control plane's manifests. */
export interface FollowedFiles {
  /** Reads all of them. */
  read(): Promise<FileChanges>;
  /** Whether a file was saved, added or removed since they were last read. */
  isStale(): Promise<boolean>;
  /** Called when changes have been applied, with the files of which not everything was. */
  applied(changes: FileChanges, failed: ReadonlySet<string>): void;
}

/** Follows files by the time of their last change: a save without a change applies a file again, too. */
export function followFiles(paths: readonly string[], io: Io, options: ReadManifestsOptions): FollowedFiles {
  let known: ReadonlyMap<string, string> = new Map();
  let current: ReadonlyMap<string, string> = new Map();
  let said = "";
  const onSkipped = (files: readonly string[]): void => {
    const text = files.join("\n");
    if (text !== said) options.onSkipped?.(files);
    said = text;
  };
  return {
    async read() {
      const stamps = new Map<string, string>();
      // Before they are read: a file that is saved meanwhile has another stamp the next time.
      const onFile = async (file: string): Promise<void> => void stamps.set(file, await stampOf(resolve(io.cwd, file)));
      const all = await readManifests(paths, io, { ...options, onSkipped, onFile });
      current = stamps;
      const changed = all.filter(({ file }) => known.get(file) !== stamps.get(file));
      return { all, changed, files: [...new Set(changed.map(({ file }) => file))] };
    },
    async isStale() {
      const found = await findManifests(paths, io, options).catch(() => []);
      if (found.length !== current.size) return true;
      for (const file of found) if ((await stampOf(resolve(io.cwd, file))) !== current.get(file)) return true;
      return false;
    },
    applied({ files }, failed) {
      const next = new Map([...known].filter(([file]) => current.has(file)));
      for (const file of files) {
        const stamp = current.get(file);
        if (failed.has(file) || stamp === undefined) next.delete(file);
        else next.set(file, stamp);
      }
      known = next;
    },
  };
}

async function stampOf(path: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(path);
    return `${mtimeMs}/${size}/${ino}`;
  } catch {
    // Gone since it was found; reading it will say so.
    return "";
  }
}

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

/** Editors save in several steps. */
const settleMs = 30;

/** What is done on each save. */
interface SavedWork {
  run(): Promise<unknown>;
  /** Whether a save of this file starts it; every file does unless given. */
  concerns?(path: string): boolean;
  /** Whether the work itself changed this file, by its absolute path, while it ran. */
  wrote?(path: string): boolean;
  /** Gets what runs it without a save. */
  onStart?(wake: () => void): void;
}

/** Runs now and on each save in the folders of these paths, until the command is stopped. Errors of the user do not end it. */
export async function runOnSaves(paths: readonly string[], io: Io, work: SavedWork): Promise<number> {
  const { signal } = io;
  let changed = Promise.withResolvers<void>();
  using watching = new DisposableStack();
  const folders = new Set(paths.map((path) => folderOf(path, io)));
  /** What changed since the run began. */
  const saved = new Set<string>();
  const onChange = (path: string): void => {
    saved.add(path);
    changed.resolve();
  };
  for (const folder of folders)
    watching.use(watchFolder(folder, (path) => work.concerns?.(path) !== false && onChange(join(folder, path))));
  let isWoken = false;
  work.onStart?.(() => {
    isWoken = true;
    changed.resolve();
  });
  signal.addEventListener("abort", () => changed.resolve(), { once: true });
  while (!signal.aborted) {
    isWoken = false;
    saved.clear();
    await work.run().catch((error: unknown) => {
      if (signal.aborted) return;
      if (!isUserError(error)) throw error;
      io.stdout.write(`error: ${harmlessLine(error.message)}\n`);
    });
    // A file that was saved meanwhile may have been read before. What the run itself wrote, such as golden files, starts no other run.
    const isStale = [...saved].some((path) => work.wrote?.(path) !== true);
    changed = Promise.withResolvers();
    if (signal.aborted || isWoken) continue;
    if (!isStale) await changed.promise;
    if (!isWoken) await delay(settleMs);
  }
  return 0;
}

function folderOf(path: string, { cwd }: Io): string {
  if (path === "-")
    throw new UserError("--watch: standard input cannot be watched: name a file or folder", { exitCode: 2 });
  const absolute = resolve(cwd, path);
  return statSync(absolute, { throwIfNoEntry: false })?.isDirectory() === true ? absolute : dirname(absolute);
}

/** Editors write a file in several steps, and a branch changes many files; what happens within this time is one change. */
const usualSettleMs = 150;

type Changed = (name: string | null, only: string | undefined) => void;

/** Calls back when a manifest under one of the paths is saved, added or removed. Folders are watched with all below. */
export function watchManifests(
  paths: readonly string[],
  cwd: string,
  { onChange, settleMs = usualSettleMs }: { readonly onChange: () => void; readonly settleMs?: number },
): Disposable {
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
