// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { ProtocolError } from "./protocol-error.ts";

const initialSize = 64 * 1024;
const largestKept = 1024 * 1024;

/** Strings up to this length are written by a loop; longer ones are worth two native calls. */
const shortString = 32;

/**
 * A buffer that is filled from its end to its start. A length prefix then comes after what it measures, so nested
 * messages need neither a second pass nor a copy. The `put` functions below take the position of the last byte
 * written and return the new one; keeping it in a local variable is what makes them fast.
 */
export interface WriteBuffer {
  readonly bytes: Buffer;
  /** The same bytes, to write several at once. */
  readonly view: DataView;
  /** Names and values of members still to be written, innermost object on top. */
  readonly pending: unknown[];
}

/** Thrown to start over with a larger buffer. Positions would not survive growing in place. */
class BufferFull {
  readonly needed: number;

  constructor(needed: number) {
    this.needed = needed;
  }
}

/** Makes sure that `size` bytes fit below `position`. */
export function reserve(position: number, size: number): void {
  if (position < size) throw new BufferFull(size);
}

export function putVarint(bytes: Buffer, value: number, position: number): number {
  if (value < 0x80) {
    bytes[position - 1] = value;
    return position - 1;
  }
  if (value < 0x4000) {
    bytes[position - 1] = value >>> 7;
    bytes[position - 2] = (value & 0x7f) | 0x80;
    return position - 2;
  }
  return putLongVarint(bytes, value, position);
}

function putLongVarint(bytes: Buffer, value: number, position: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) size++;
  const start = position - size;
  let at = start;
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 0x80;
  bytes[at] = rest;
  return start;
}

/** A signed 64-bit varint, ten bytes when negative. */
export function putVarint64(bytes: Buffer, value: bigint, position: number): number {
  const septets: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest >= 0x80n; rest >>= 7n) septets.push(Number(rest & 0x7fn) | 0x80);
  septets.push(Number(rest));
  return putBytes(bytes, septets, position);
}

export function putDouble(buffer: WriteBuffer, value: number, position: number): number {
  buffer.view.setFloat64(position - 8, value, true);
  return position - 8;
}

export function putBytes(bytes: Buffer, value: ArrayLike<number>, position: number): number {
  const start = position - value.length;
  bytes.set(value, start);
  return start;
}

/** A string with its length in front. Throws on a lone surrogate, which no peer accepts. */
export function putString(bytes: Buffer, value: string, position: number): number {
  const { length } = value;
  if (length <= shortString) {
    let at = position;
    let seen = 0;
    for (let i = length - 1; i >= 0; i--) {
      const code = value.charCodeAt(i);
      seen |= code;
      bytes[--at] = code;
    }
    if (seen < 0x80) {
      bytes[--at] = length;
      return at;
    }
  }
  return putLongString(bytes, value, position);
}

function putLongString(bytes: Buffer, value: string, position: number): number {
  const size = Buffer.byteLength(value);
  const isAscii = size === value.length;
  if (!isAscii && !value.isWellFormed()) {
    throw new ProtocolError("INVALID_UTF8", "the string holds half a surrogate pair and cannot be written as UTF-8");
  }
  const start = position - size;
  bytes.write(value, start, size, isAscii ? "latin1" : "utf8");
  return putVarint(bytes, size, start);
}

/** How many bytes {@link putString} may need. */
export function stringRoom(value: string): number {
  return value.length * 3 + 8;
}

let spare: WriteBuffer | undefined;

/**
 * Lends a buffer to `write`, which gets the position to start from and returns where it ended, and returns a copy
 * of what was written. When the buffer turns out too small, `write` is called again with a larger one.
 */
export function withBuffer(write: (buffer: WriteBuffer, position: number) => number): Buffer {
  // Taken, not shared: a toJSON() called while encoding may encode something else.
  let buffer = spare ?? createBuffer(initialSize);
  spare = undefined;
  for (;;) {
    try {
      const start = write(buffer, buffer.bytes.length);
      const copy = copyOf(buffer.bytes, start);
      if (buffer.bytes.length <= largestKept) spare = buffer;
      return copy;
    } catch (problem) {
      if (!(problem instanceof BufferFull)) throw problem;
      buffer = createBuffer(buffer.bytes.length * 2 + problem.needed);
    }
  }
}

function createBuffer(size: number): WriteBuffer {
  const bytes = Buffer.allocUnsafeSlow(size);
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, size), pending: [] };
}

function copyOf(bytes: Buffer, start: number): Buffer {
  const copy = Buffer.allocUnsafe(bytes.length - start);
  bytes.copy(copy, 0, start);
  return copy;
}
