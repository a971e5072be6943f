// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { hash, randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

/** Replaces a secret value in a record. */
export type Mark = (value: Uint8Array) => string;

const keyBytes = 32;
const shownDigits = 8;

/** The mark of Crossplane's pipeline inspector, the same for all values. */
export const plainMark: Mark = () => "**REDACTED**";

/** Marks with the first eight digits of an HMAC: a value that changed has another mark, and the mark does not reveal the value. */
export function keyedMark(key: Uint8Array): Mark {
  const hmac = hmacOf(key);
  return (value) => `**REDACTED:${hmac(value).slice(0, shownDigits)}**`;
}

const blockBytes = 64;

/** HMAC-SHA-256 (RFC 2104) of two calls that hash at once: an Hmac object costs several times as much as hashing a short value. */
function hmacOf(key: Uint8Array): (value: Uint8Array) => string {
  const block = Buffer.alloc(blockBytes);
  block.set(key.length > blockBytes ? hash("sha256", key, "buffer") : key);
  const [inner, outer] = [block.map((byte) => byte ^ 0x36), block.map((byte) => byte ^ 0x5c)];
  return (value) =>
    hash("sha256", Buffer.concat([outer, hash("sha256", Buffer.concat([inner, value]), "buffer")]), "hex");
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
