// SPDX-License-Identifier: Apache-2.0
import { closeSync, existsSync, openSync, readFileSync, readSync } from "node:fs";

/** What the write-ahead log looks like before SQLite reads it. */
export interface WalReport {
  /** Commits that SQLite would leave out although later ones prove that they were once complete. */
  readonly damaged: boolean;
  /** Frames behind the last complete commit: a commit that was in progress when the machine stopped. */
  readonly unfinishedFrames: number;
  /** Frames of complete commits. */
  readonly completeFrames: number;
  /**
   * A random number that SQLite gives a write-ahead log when it makes the file, and keeps for as long as there is the file: the first salt is
   * increased by one whenever the file is begun again, as is the number of rounds.
   */
  readonly lineage: number | undefined;
  /** How many times the file was begun again. */
  readonly rounds: number;
}

const headerBytes = 32;
const frameHeaderBytes = 24;
const walMagic = 0x377f0682;
const pageBytes = 4096;

/**
 * SQLite reads its write-ahead log up to the first frame that does not fit and takes the rest for the torn end of a crash. A frame
 * damaged in the middle so silently swallows every commit after it. This looks at the rest: each commit is synced before the next one
 * begins, so more than one commit behind the misfit means damage, not a crash.
 */
export function checkWal(path: string): WalReport {
  const wal = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  if (wal.length < headerBytes + frameHeaderBytes) {
    // Neither empty nor a header alone: the first commit had begun.
    return { ...noFrames, unfinishedFrames: wal.length % headerBytes === 0 ? 0 : 1 };
  }
  const reader = readHeader(wal);
  return reader === undefined ? { ...noFrames, damaged: true } : inspect(reader);
}

const noFrames: WalReport = {
  damaged: false,
  unfinishedFrames: 0,
  completeFrames: 0,
  lineage: undefined,
  rounds: 0,
};

/** The lineage of a write-ahead log that is open; undefined when it has no header. */
export function readLineage(path: string): number | undefined {
  const header = Buffer.alloc(headerBytes);
  const file = openSync(path, "r");
  try {
    return readSync(file, header, 0, headerBytes, 0) === headerBytes ? lineageOf(header) : undefined;
  } finally {
    closeSync(file);
  }
}

/** How many frames of a write-ahead log are as they were written, counted from its start. */
export function countIntactFrames(wal: Buffer): number {
  const reader = wal.length < headerBytes ? undefined : readHeader(wal);
  return reader === undefined ? 0 : intactFrames(reader).intact;
}

/** The length of a write-ahead log with this many frames. */
export const walBytes = (frames: number): number => headerBytes + frames * (frameHeaderBytes + pageBytes);

function lineageOf(wal: Buffer): number {
  return (wal.readUInt32BE(16) - wal.readUInt32BE(12)) >>> 0;
}

interface WalReader {
  readonly wal: Buffer;
  readonly littleEndian: boolean;
  readonly frameBytes: number;
  readonly frames: number;
}

function readHeader(wal: Buffer): WalReader | undefined {
  const magic = wal.readUInt32BE(0);
  const littleEndian = magic === walMagic;
  if (!littleEndian && magic !== walMagic + 1) return undefined;
  const sum = checksum([0, 0], wal.subarray(0, 24), littleEndian);
  if (sum[0] !== wal.readUInt32BE(24) || sum[1] !== wal.readUInt32BE(28)) return undefined;
  const frameBytes = frameHeaderBytes + wal.readUInt32BE(8);
  return { wal, littleEndian, frameBytes, frames: Math.floor((wal.length - headerBytes) / frameBytes) };
}

function inspect(reader: WalReader): WalReport {
  const { intact, complete } = intactFrames(reader);
  let unfinishedFrames = intact - complete;
  let commits = 0;
  for (let frame = intact; frame < reader.frames; frame += 1) {
    if (isOfThisLog(reader, frame)) {
      unfinishedFrames += 1;
      commits += isCommit(reader, frame) ? 1 : 0;
    }
  }
  return {
    damaged: commits > 1,
    unfinishedFrames: unfinishedFrames + cutFrames(reader, intact),
    completeFrames: complete,
    lineage: lineageOf(reader.wal),
    rounds: reader.wal.readUInt32BE(12),
  };
}

/** A frame of which only the beginning is there counts, unless it belongs to an earlier round. */
function cutFrames({ wal, frameBytes, frames }: WalReader, intact: number): 0 | 1 {
  const at = headerBytes + frames * frameBytes;
  const left = wal.length - at;
  const isOlder = left >= frameHeaderBytes && wal.compare(wal, 16, 24, at + 8, at + 16) !== 0;
  return left > 0 && intact === frames && !isOlder ? 1 : 0;
}

/** How many frames from the start are as they were written, and how many of them belong to complete commits. */
function intactFrames(reader: WalReader): { readonly intact: number; readonly complete: number } {
  const { wal, littleEndian, frameBytes, frames } = reader;
  let sum: Sum = [wal.readUInt32BE(24), wal.readUInt32BE(28)];
  let complete = 0;
  for (let frame = 0; frame < frames; frame += 1) {
    const at = headerBytes + frame * frameBytes;
    sum = checksum(sum, wal.subarray(at, at + 8), littleEndian);
    sum = checksum(sum, wal.subarray(at + frameHeaderBytes, at + frameBytes), littleEndian);
    const fits = sum[0] === wal.readUInt32BE(at + 16) && sum[1] === wal.readUInt32BE(at + 20);
    if (!isOfThisLog(reader, frame) || !fits) return { intact: frame, complete };
    complete = isCommit(reader, frame) ? frame + 1 : complete;
  }
  return { intact: frames, complete };
}

// Frames of an earlier round of the same file carry other salts.
function isOfThisLog({ wal, frameBytes }: WalReader, frame: number): boolean {
  const at = headerBytes + frame * frameBytes;
  return wal.compare(wal, 16, 24, at + 8, at + 16) === 0;
}

function isCommit({ wal, frameBytes }: WalReader, frame: number): boolean {
  return wal.readUInt32BE(headerBytes + frame * frameBytes + 4) !== 0;
}

type Sum = readonly [number, number];

function checksum(start: Sum, bytes: Buffer, littleEndian: boolean): Sum {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let [a, b] = start;
  for (let at = 0; at < bytes.length; at += 8) {
    a = (a + view.getUint32(at, littleEndian) + b) >>> 0;
    b = (b + view.getUint32(at + 4, littleEndian) + a) >>> 0;
  }
  return [a, b];
}
