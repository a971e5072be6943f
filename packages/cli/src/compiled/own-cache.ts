// SPDX-License-Identifier: Apache-2.0
import { folderRisk } from "../files/own-folder.ts";

// Imported as modules, these would be loaded with everything they could ever be asked for: several milliseconds each.
const { chmodSync, lstatSync, mkdirSync } = process.getBuiltinModule("node:fs");
const { enableCompileCache } = process.getBuiltinModule("node:module");
const { isAbsolute, join } = process.getBuiltinModule("node:path");

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Keeps compiled code between runs, so that help and errors come at once. V8 runs what it finds there as it is, so the folder is one that
 * no other user can write to; where there is none, every run compiles anew. Node's own choice would be a folder in /tmp.
 */
export function keepCompiledCode(env: Environment): void {
  const folder = compiledCodeFolder(env);
  if (folder !== undefined) enableCompileCache(folder);
}

/** The folder for compiled code, made if it is not there; undefined where no safe one can be had. */
export function compiledCodeFolder({ XDG_CACHE_HOME: xdg, HOME: home }: Environment): string | undefined {
  const caches = xdg ? xdg : home && join(home, ".cache");
  if (!caches || !isAbsolute(caches)) return undefined;
  const own = join(caches, "purlin");
  const folder = join(own, "compiled");
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (![own, folder].every(isFolder) || folderRisk(folder) !== undefined) return undefined;
    // What other users could read tells what this one runs.
    if ((lstatSync(folder).mode & 0o077) !== 0) chmodSync(folder, 0o700);
    return folder;
  } catch {
    // A home that is missing or cannot be written, say.
    return undefined;
  }
}

/** A link leads to where its maker wants. */
function isFolder(path: string): boolean {
  return lstatSync(path).isDirectory();
}
