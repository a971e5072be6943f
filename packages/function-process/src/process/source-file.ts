// SPDX-License-Identifier: Apache-2.0
import { type FSWatcher, watch } from "node:fs";
import { access, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, extname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { RunningSource, SourceRuntime } from "@purlin/function-runner";
import type { FunctionSpec } from "./function-process.ts";
import type { FunctionProcesses } from "./function-processes.ts";

/** A mount of this machine: which folder of which file system is seen where. */
interface Mount {
  /** `major:minor`. */
  readonly device: string;
  /** The folder of the file system. */
  readonly root: string;
  readonly point: string;
}

/** Where the source files of functions may lie. All paths are absolute. */
export interface SourceFolders {
  /** A source file lies in one of these, after all links are resolved. */
  readonly folders: readonly string[];
  /** It lies in none of these, even where they are inside one of the others: data directories, with unpacked images of packages. */
  readonly except: readonly string[];
}

/** The file to run, with all links resolved, or why it is not run. */
export type SourceFile = { readonly file: string } | { readonly problem: string };

const refusals: Readonly<Record<string, string>> = {
  ENOENT: "file not found",
  ENOTDIR: "file not found",
  ELOOP: "too many symbolic links",
  EACCES: "permission denied",
  ENAMETOOLONG: "the path is too long",
};

/** Finds the file that a path leads to, and refuses one that lies outside the folders. To be called before each start. */
export async function findSourceFile(path: string, { folders, except }: SourceFolders): Promise<SourceFile> {
  if (path.includes("\0")) return { problem: "the path contains a NUL character" };
  let file: string;
  try {
    file = await realpath(path);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    return { problem: refusals[code] ?? `cannot be read: ${code}` };
  }
  const roots = await existing(folders);
  if (!roots.some((root) => isInside(root, file))) return { problem: outside };
  if (await isInDataDirectory(file, await existing(except))) return { problem: unpacked };
  return (await stat(file)).isFile() ? { file } : { problem: "not a regular file" };
}

const outside = "outside the folders given to purlin up: move the file into one of them, or give a folder above both";
const unpacked = "inside a data directory, where images of packages are unpacked: move the file out of it";

/** The paths that exist, without links. */
async function existing(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => realpath(path).catch(() => undefined)));
  return found.filter((path) => path !== undefined);
}

/** Also through bind mounts, and where names differ in case only. */
async function isInDataDirectory(file: string, directories: readonly string[]): Promise<boolean> {
  if (directories.some((directory) => isInside(directory, file))) return true;
  const mounts = await readMounts();
  const source = sourceOfMount(mounts, file);
  if (directories.some((directory) => isInside(sourceOfMount(mounts, directory), source))) return true;
  const known = new Set(await Promise.all(directories.map(identityOf)));
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (known.has(await identityOf(folder)) || (await looksLikeDataDirectory(folder))) return true;
    if (folder === dirname(folder)) return false;
  }
}

async function identityOf(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  return `${dev}:${ino}`;
}

/** That of another control plane. */
async function looksLikeDataDirectory(folder: string): Promise<boolean> {
  const found = await Promise.allSettled(["kubeconfig", "roots"].map((name) => access(join(folder, name))));
  return found.every(({ status }) => status === "fulfilled");
}

/** The mounts that this process sees, oldest first; none on systems that do not list them in a file. */
async function readMounts(): Promise<readonly Mount[]> {
  return parseMounts(await readFile("/proc/self/mountinfo", "utf8").catch(() => ""));
}

/** Reads the text of a mountinfo file. */
export function parseMounts(text: string): Mount[] {
  return text.split("\n").flatMap((line) => {
    const [, , device, root, point] = line.split(" ");
    if (device === undefined || root === undefined || point === undefined) return [];
    return [{ device, root: unescaped(root), point: unescaped(point) }];
  });
}

/** Spaces, tabs, newlines and backslashes are written as octal numbers. */
function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/**
 * Where a path lies in its file system, as `/device/path`: the same for all places where a folder is bind-mounted. The path itself where no
 * mount is known.
 */
export function sourceOfMount(mounts: readonly Mount[], path: string): string {
  const above = mounts.filter(({ point }) => point === path || isInside(point, path));
  // Of two mounts at one place the later one is seen.
  const mount = above.reduce<Mount | undefined>((a, b) => (a && a.point.length > b.point.length ? a : b), undefined);
  return mount === undefined ? path : join("/", mount.device, mount.root, relative(mount.point, path));
}

/** Whether a path lies below a folder. Both are absolute and without links. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

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

/** How the source files of Functions are run. */
export interface SourceOptions {
  /** Relative paths start here, and files in messages are relative to it. */
  readonly cwd: string;
  /** Where source files must lie; anywhere unless given. */
  readonly within?: SourceFolders | undefined;
}

/** Runs the source files of Functions as child processes. */
export function createSourceRuntime(processes: FunctionProcesses, options: SourceOptions): SourceRuntime {
  return {
    serve(name, path, signal): Promise<RunningSource> {
      return processes.run(sourceSpec(name, path, options)).served(signal);
    },
    current: (name) => processes.get(name)?.current,
  };
}

/** The process of a Function's source file. */
export function sourceSpec(name: string, path: string, { cwd, within }: SourceOptions): FunctionSpec {
  return { name, cwd, program: { kind: "source", file: resolve(cwd, path), within } };
}
