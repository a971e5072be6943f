// SPDX-License-Identifier: Apache-2.0

import { isUtf8 } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { createErrorBrand } from "@purlin/base";

/** How much of a file is read. */
interface ReadLimits {
  readonly maxBytes: number;
}

// A FIFO that takes the place of the file between the check and the open must not block, nor a terminal become ours.
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);

/**
 * Reads a whole regular file; links are followed. Throws an UnreadableFileError for devices, FIFOs, sockets and folders, which are not
 * opened, for a file above the limit, and for one that grows while it is read; errors of the system as they are.
 */
export async function readRegularFile(path: string, limits: ReadLimits): Promise<Buffer> {
  const { file, size } = await openRegularFile(path, limits);
  try {
    const buffer = Buffer.allocUnsafe(size + 1);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return complete(buffer, length);
  } finally {
    await file.close();
  }
}

/** The same, for a command that cannot wait. */
export function readRegularFileSync(path: string, limits: ReadLimits): Buffer {
  requireRegular(statSync(path));
  const file = openSync(path, flags);
  try {
    const found = fstatSync(file);
    requireRegular(found);
    requireSize(found.size, limits);
    const buffer = Buffer.allocUnsafe(found.size + 1);
    let length = 0;
    while (length < buffer.length) {
      const read = readSync(file, buffer, length, buffer.length - length, length);
      if (read === 0) break;
      length += read;
    }
    return complete(buffer, length);
  } finally {
    closeSync(file);
  }
}

/** A regular file that is open, and its size when it was opened. */
interface OpenRegularFile {
  readonly file: FileHandle;
  readonly size: number;
}

/**
 * Opens a regular file to read it piece by piece. Throws an UnreadableFileError for anything else, without waiting for it, and for a file
 * above the limit.
 */
export async function openRegularFile(path: string, limits: ReadLimits): Promise<OpenRegularFile> {
  // Before it is opened: opening a device can have effects.
  requireRegular(await stat(path));
  const file = await open(path, flags);
  try {
    const found = await file.stat();
    requireRegular(found);
    requireSize(found.size, limits);
    return { file, size: found.size };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Reads a stream to its end, such as standard input. Throws an UnreadableFileError when there is more than the limit. */
export async function readStreamWithin(
  stream: AsyncIterable<Uint8Array | string>,
  limits: ReadLimits,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array);
    length += bytes.length;
    if (length > limits.maxBytes) throw tooLarge("it has more", limits);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

/**
 * Throws an UnreadableFileError unless it is a regular file, for a file that other code opens: to open a FIFO could block for ever. Also for
 * a file above the limit, where there is one.
 */
export function requireRegularFile(path: string, limits?: ReadLimits): void {
  const found = statSync(path);
  requireRegular(found);
  if (limits !== undefined) requireSize(found.size, limits);
}

function requireRegular(found: Stats): void {
  if (found.isFile()) return;
  const what = found.isDirectory()
    ? "a folder: specify a file in it"
    : `${kindOf(found)}, not a regular file: specify a file`;
  throw new UnreadableFileError("not-regular", `it is ${what}`);
}

function kindOf(found: Stats): string {
  if (found.isFIFO()) return "a named pipe (FIFO)";
  if (found.isSocket()) return "a socket";
  return "a device";
}

function requireSize(size: number, limits: ReadLimits): void {
  if (size > limits.maxBytes) throw tooLarge(`it has ${bytesText(size)}`, limits);
}

function tooLarge(found: string, { maxBytes }: ReadLimits): UnreadableFileError {
  return new UnreadableFileError(
    "too-large",
    `${found}; the limit is ${bytesText(maxBytes)}: split it, or choose another file`,
  );
}

function complete(buffer: Buffer, length: number): Buffer {
  if (length < buffer.length) return buffer.subarray(0, length);
  throw new UnreadableFileError("changed", "it grew while it was read: try again when it is written");
}

/** `64 MiB`, `12 bytes`. */
function bytesText(bytes: number): string {
  for (const [unit, size] of units) if (bytes >= size) return `${Math.ceil((bytes / size) * 10) / 10} ${unit}`;
  return `${bytes} bytes`;
}

const units = [
  ["GiB", 1024 ** 3],
  ["MiB", 1024 ** 2],
  ["KiB", 1024],
] as const;

/** Why a file is refused: it is not a regular file, it is too large, it changed while it was read, or it is not UTF-8. */
type UnreadableReason = "not-regular" | "too-large" | "changed" | "encoding";

const brand = createErrorBrand<UnreadableFileError>("purlin.dev/kube-objects/UnreadableFileError");

/** A file that is not read. The message says what is wrong and what to do; the caller adds the name of the file. */
class UnreadableFileError extends Error {
  readonly reason: UnreadableReason;

  constructor(reason: UnreadableReason, message: string) {
    super(message);
    this.name = "UnreadableFileError";
    this.reason = reason;
    brand.mark(this);
  }
}

/** True for an UnreadableFileError, also one of another copy of this package. */
export function isUnreadableFile(error: unknown): error is UnreadableFileError {
  return brand.has(error);
}

/** The text of a file, without a byte order mark. Throws an UnreadableFileError with the line of the first byte that is not UTF-8. */
export function decodeUtf8(bytes: Buffer): string {
  if (isUtf8(bytes)) return withoutMark(bytes.toString("utf8"));
  if (hasMark(bytes, 0xff, 0xfe) || hasMark(bytes, 0xfe, 0xff)) {
    throw new UnreadableFileError("encoding", "it is encoded as UTF-16: save it as UTF-8");
  }
  const text = `line ${firstBadLine(bytes)} is not valid UTF-8: save the file as UTF-8`;
  throw new UnreadableFileError("encoding", text);
}

function withoutMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

function hasMark(bytes: Buffer, first: number, second: number): boolean {
  return bytes[0] === first && bytes[1] === second;
}

/** No character of more than one byte contains a line feed, so lines can be checked one by one. */
function firstBadLine(bytes: Buffer): number {
  let from = 0;
  for (let line = 1; ; line++) {
    const end = bytes.indexOf(0x0a, from);
    if (end < 0 || !isUtf8(bytes.subarray(from, end))) return line;
    from = end + 1;
  }
}
