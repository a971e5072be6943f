// SPDX-License-Identifier: Apache-2.0
import { folderRisk } from "../files/own-folder.ts";

// Imported as modules, these would be loaded with everything they could ever be asked for: several milliseconds each.
const { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } =
  process.getBuiltinModule("node:fs");
const { crc32 } = process.getBuiltinModule("node:zlib");

/** A sum of all that follows, then how many runs have added to it. */
const headBytes = 5;
/** Others may write to the file: the group, or all users. */
const writableByOthers = 0o022;

/** What V8 has made of a program so far. */
interface CodeCache {
  readonly data: Buffer;
  /** How many runs of the program have added to it. */
  readonly runs: number;
}

/**
 * V8's cached code of a program, from a file of ours; undefined if the file is missing, incomplete or could have been written by another
 * user. V8 trusts cached code, so files that another user could have written are never used.
 */
export function readCodeCache(path: string): CodeCache | undefined {
  try {
    const file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    try {
      const { uid, mode } = fstatSync(file);
      if (uid !== ownUid(uid) || (mode & writableByOthers) !== 0) return undefined;
      return unsealed(readFileSync(file));
    } finally {
      closeSync(file);
    }
  } catch {
    // Not there, or not readable: the program is compiled as if for the first time.
    return undefined;
  }
}

/** Keeps what V8 made of a program. Where nothing can be kept, the next start takes as long as this one. */
export function writeCodeCache(path: string, { data, runs }: CodeCache): void {
  const partial = `${path}.${process.pid}`;
  try {
    // A new file, never what a link there leads to.
    rmSync(partial, { force: true });
    writeFileSync(partial, sealed(data, runs), { mode: 0o600, flag: "wx" });
    // A process that starts in the meantime finds the complete file or no file.
    renameSync(partial, path);
  } catch {
    rmSync(partial, { force: true });
  }
}

/** Windows has no such ids, and folders of one's own instead. */
const ownUid = (uid: number): number => process.getuid?.() ?? uid;

function sealed(data: Buffer, runs: number): Buffer {
  const file = Buffer.concat([Buffer.alloc(headBytes), data]);
  file.writeUInt8(runs, headBytes - 1);
  file.writeUInt32BE(sumOf(file));
  return file;
}

function unsealed(file: Buffer): CodeCache | undefined {
  if (file.length <= headBytes || sumOf(file) !== file.readUInt32BE()) return undefined;
  return { data: file.subarray(headBytes), runs: file.readUInt8(headBytes - 1) };
}

const sumOf = (file: Buffer): number => crc32(file.subarray(headBytes - 1));

// Imported as modules, these would be loaded with everything they could ever be asked for: several milliseconds each.
const { chmodSync, lstatSync, mkdirSync } = process.getBuiltinModule("node:fs");
const { enableCompileCache } = process.getBuiltinModule("node:module");
const { isAbsolute, join } = process.getBuiltinModule("node:path");

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Keeps compiled code between runs, so that help and errors come at once. V8 runs what it finds there as it is, so the folder is one that
 * no other user can write to; without such a folder, every run compiles again. Node's own default is a folder in /tmp.
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
