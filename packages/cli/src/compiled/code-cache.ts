// SPDX-License-Identifier: Apache-2.0

// Imported as modules, these would be loaded with everything they could ever be asked for: several milliseconds each.
const { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } =
  process.getBuiltinModule("node:fs");
const { crc32 } = process.getBuiltinModule("node:zlib");

/** A sum of all that follows, then how many runs have added to it. */
const headBytes = 5;
/** Others may write to the file: the group, or everybody. */
const writableByOthers = 0o022;

/** What V8 has made of a program so far. */
interface CodeCache {
  readonly data: Buffer;
  /** How many runs of the program have added to it. */
  readonly runs: number;
}

/**
 * What V8 made of a program the last times, from a file of ours; undefined when there is none, when it may be somebody else's, or when it
 * is not whole. V8 trusts what it is given, so it gets nothing that anybody else could have written.
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
    // Whoever starts meanwhile finds the whole file or none.
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
