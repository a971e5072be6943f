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

class TextTable {
  readonly #texts: (string | undefined)[] = new Array(slots).fill(undefined);
  readonly #bytes = new Uint8Array(slots * longest);

  /** Reads a string of `size` bytes at `at`. */
  read(bytes: Buffer, at: number, size: number): string {
    if (size === 0 || size > longest) return readString(bytes, at, size);
    const slot = slotOf(bytes, at, size);
    const known = this.#texts[slot];
    if (known !== undefined && known.length === size && this.#holds(slot, bytes, at)) return known;
    const text = readString(bytes, at, size);
    // Only ASCII has as many characters as bytes.
    if (text.length === size) {
      this.#texts[slot] = text;
      for (let i = 0; i < size; i++) this.#bytes[slot * longest + i] = bytes[at + i] as number;
    }
    return text;
  }

  #holds(slot: number, bytes: Buffer, at: number): boolean {
    const size = this.#texts[slot]?.length ?? 0;
    const start = slot * longest;
    for (let i = 0; i < size; i++) if (this.#bytes[start + i] !== bytes[at + i]) return false;
    return true;
  }
}

// Two tables, because there are more values than names: values would evict the names.
const names = new TextTable();
const values = new TextTable();

/** Reads a member name of `size` bytes at `at`. */
export function readName(bytes: Buffer, at: number, size: number): string {
  return names.read(bytes, at, size);
}

/** Reads a string value of `size` bytes at `at`. */
export function readText(bytes: Buffer, at: number, size: number): string {
  return values.read(bytes, at, size);
}

function slotOf(bytes: Buffer, at: number, size: number): number {
  const first = bytes[at] as number;
  const middle = bytes[at + (size >> 1)] as number;
  const last = bytes[at + size - 1] as number;
  return ((first * 31 + middle) * 31 + last * 7 + size) & (slots - 1);
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
