// SPDX-License-Identifier: Apache-2.0
import type { Buffer } from "node:buffer";
import { readString } from "./wire-reader.ts";
import { putString, type WriteBuffer } from "./wire-writer.ts";

// Kubernetes objects repeat few keys endlessly ("metadata", "name", "spec") and many short values ("True", "v1", a
// namespace), so both directions remember what they have seen.

const longest = 32;

// Reading: a direct-mapped table gives the same string again after a comparison of bytes, which costs a fraction of
// making a new one. A newcomer takes the slot; nothing else is ever forgotten, and nothing grows.
const slots = 1024;

interface TextTable {
  readonly texts: (string | undefined)[];
  readonly bytes: Uint8Array;
}

// Apart, because there are more values than names and they would push the names out.
const names = createTable();
const values = createTable();

function createTable(): TextTable {
  return { texts: new Array(slots).fill(undefined), bytes: new Uint8Array(slots * longest) };
}

/** Reads a member name of `size` bytes at `at`. */
export function readName(bytes: Buffer, at: number, size: number): string {
  return size === 0 || size > longest ? readString(bytes, at, size) : intern(names, bytes, at, size);
}

/** Reads a string value of `size` bytes at `at`. */
export function readText(bytes: Buffer, at: number, size: number): string {
  return size === 0 || size > longest ? readString(bytes, at, size) : intern(values, bytes, at, size);
}

function intern(table: TextTable, bytes: Buffer, at: number, size: number): string {
  const slot = slotOf(bytes, at, size);
  const known = table.texts[slot];
  if (known !== undefined && known.length === size && isIn(table, slot, bytes, at)) return known;
  const text = readString(bytes, at, size);
  // Only ASCII has as many characters as bytes.
  if (text.length === size) {
    table.texts[slot] = text;
    for (let i = 0; i < size; i++) table.bytes[slot * longest + i] = bytes[at + i] as number;
  }
  return text;
}

function slotOf(bytes: Buffer, at: number, size: number): number {
  const first = bytes[at] as number;
  const middle = bytes[at + (size >> 1)] as number;
  const last = bytes[at + size - 1] as number;
  return ((first * 31 + middle) * 31 + last * 7 + size) & (slots - 1);
}

function isIn(table: TextTable, slot: number, bytes: Buffer, at: number): boolean {
  const size = table.texts[slot]?.length ?? 0;
  const start = slot * longest;
  for (let i = 0; i < size; i++) if (table.bytes[start + i] !== bytes[at + i]) return false;
  return true;
}

// Writing: the encoded key stands right-aligned in a slot and is copied four bytes at a time. That may write up to three
// bytes too many, below what is written so far, where the next field will stand.
const tagKey = 0x0a;
const slotSize = 40;
const maxKnown = 1024;
const encoded = new DataView(new ArrayBuffer(maxKnown * slotSize));
const encodedBytes = new Uint8Array(encoded.buffer);
const slotEnds = new Map<string, number>();

/** Writes a member name with its tag and length. */
export function putKey(buffer: WriteBuffer, key: string, position: number): number {
  const end = slotEnds.get(key);
  if (end === undefined) return putNewKey(buffer, key, position);
  const size = key.length + 2;
  for (let i = 4; i < size + 4; i += 4) buffer.view.setInt32(position - i, encoded.getInt32(end - i, true), true);
  return position - size;
}

function putNewKey({ bytes }: WriteBuffer, key: string, position: number): number {
  const start = putString(bytes, key, position) - 1;
  bytes[start] = tagKey;
  const isAscii = position - start === key.length + 2;
  if (isAscii && key.length <= longest) remember(key, bytes.subarray(start, position));
  return start;
}

/** Forgets all when full, so that a flood of names seen once does not keep out the ones seen always. */
function remember(key: string, bytes: Buffer): void {
  if (slotEnds.size === maxKnown) slotEnds.clear();
  const end = (slotEnds.size + 1) * slotSize;
  encodedBytes.set(bytes, end - bytes.length);
  slotEnds.set(key, end);
}
