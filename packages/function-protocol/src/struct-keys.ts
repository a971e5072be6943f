// SPDX-License-Identifier: Apache-2.0
import type { Buffer } from "node:buffer";
import { readString } from "./wire-reader.ts";

// Kubernetes objects repeat few keys endlessly ("metadata", "name", "spec"). A small direct-mapped table gives the
// same string again after a comparison of bytes, which costs a fraction of making and internalising a new one.
const slots = 1024;
const longestKey = 32;
const texts: (string | undefined)[] = new Array(slots).fill(undefined);

/** Reads a member name of `size` bytes at `at`. */
export function internKey(bytes: Buffer, at: number, size: number): string {
  if (size === 0 || size > longestKey) return readString(bytes, at, size);
  const slot = slotOf(bytes, at, size);
  const known = texts[slot];
  if (known !== undefined && known.length === size && isSame(known, bytes, at)) return known;
  const text = readString(bytes, at, size);
  texts[slot] = text;
  return text;
}

function slotOf(bytes: Buffer, at: number, size: number): number {
  const first = bytes[at] as number;
  const middle = bytes[at + (size >> 1)] as number;
  const last = bytes[at + size - 1] as number;
  return ((first * 31 + middle) * 31 + last * 7 + size) & (slots - 1);
}

/** Compares character codes with bytes, so only an ASCII text can be the same as its own bytes. */
function isSame(text: string, bytes: Buffer, at: number): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code !== bytes[at + i] || code >= 0x80) return false;
  }
  return true;
}
