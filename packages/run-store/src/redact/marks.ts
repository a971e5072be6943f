// SPDX-License-Identifier: Apache-2.0

import type { Buffer } from "node:buffer";
import { createHmac, randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

/** Replaces a secret value in a record. */
export type Mark = (value: Uint8Array) => string;

const keyBytes = 32;
const shownDigits = 8;

/** The mark of Crossplane's pipeline inspector, the same for all values. */
export const plainMark: Mark = () => "**REDACTED**";

/** Marks with the first eight digits of an HMAC: a value that changed has another mark, and the mark does not reveal the value. */
export function keyedMark(key: Uint8Array): Mark {
  return (value) => `**REDACTED:${createHmac("sha256", key).update(value).digest("hex").slice(0, shownDigits)}**`;
}

/** The key of a store, from a file that only its owner can read. Creates the file when it does not exist. */
export function readMarkKey(path: string): Buffer {
  if (!existsSync(path)) writeFileSync(path, randomBytes(keyBytes), { mode: 0o600, flag: "wx" });
  const key = readFileSync(path);
  if (key.length < keyBytes) throw new Error(`${path} is not a key of ${keyBytes} bytes: remove it`);
  return key;
}

/** A mark anywhere in a text. */
export const markPattern: RegExp = /\*\*REDACTED(?::[0-9a-f]{8})?\*\*/g;

/** Whether a text is a mark and nothing else: an object that was redacted before. */
export function isMark(text: string): boolean {
  return /^\*\*REDACTED(?::[0-9a-f]{8})?\*\*$/.test(text);
}
