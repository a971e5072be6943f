// SPDX-License-Identifier: Apache-2.0
import { folderRisk } from "../files/own-folder.ts";

// Imported as modules, these would be loaded with everything they could ever be asked for: several milliseconds each.
const {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} = process.getBuiltinModule("node:fs");
const { createRequire, enableCompileCache, getCompileCacheDir } = process.getBuiltinModule("node:module");
const { isAbsolute, join } = process.getBuiltinModule("node:path");
const { fileURLToPath } = process.getBuiltinModule("node:url");
const { Script } = process.getBuiltinModule("node:vm");
const { crc32 } = process.getBuiltinModule("node:zlib");

/** How a program is loaded. */
interface LoadOptions {
  /** Where compiled code is kept; undefined keeps none. Default: where Node keeps it. */
  readonly directory?: string | undefined;
  /** Calls back once the program has run so far that most of what it needs at a start was compiled. */
  readonly whenStarted?: (keep: () => void) => void;
}

/**
 * Loads a program that was built into one CommonJS file, with the code V8 has compiled for it the last time. Node's own compile cache
 * holds what is compiled when a file is loaded; most functions are compiled when they are first called, and that was a third of the
 * time of a command that does little.
 */
export function loadCompiled(file: URL, options: LoadOptions = {}): Record<string, unknown> {
  const { whenStarted = soon } = options;
  const directory = "directory" in options ? options.directory : getCompileCacheDir();
  const path = fileURLToPath(file);
  // Built as ASCII, and so a string of one byte a character.
  const source = readFileSync(path, "latin1");
  const kept = directory === undefined ? undefined : join(directory, `${crc32(source).toString(16)}.purlin`);
  const cache = kept === undefined ? undefined : readCodeCache(kept);
  const script = new Script(`(function(exports,require,module,importMetaUrl){${source}\n})`, {
    filename: path,
    ...(cache && { cachedData: cache.data }),
  });
  const runs = cache === undefined || script.cachedDataRejected === true ? 0 : cache.runs;
  if (kept !== undefined && runs < addingRuns) {
    whenStarted(() => writeCodeCache(kept, { data: script.createCachedData(), runs: runs + 1 }));
  }
  const module: { exports: Record<string, unknown> } = { exports: {} };
  const run = script.runInThisContext() as (...parameters: readonly unknown[]) => void;
  run.call(module.exports, module.exports, createRequire(file), module, file.href);
  return module.exports;
}

/** The first run may have ended early, and the next ones taken other ways: each adds what it has called. */
const addingRuns = 3;
const startMs = 2000;

/** Before V8 forgets what was needed at the start only, or at the end of a command that is over before. */
function soon(keep: () => void): void {
  const once = (): void => {
    clearTimeout(timer);
    process.off("exit", once);
    keep();
  };
  const timer = setTimeout(once, startMs).unref();
  process.once("exit", once);
}

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
    // Files that other users can read would show what this user runs.
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
