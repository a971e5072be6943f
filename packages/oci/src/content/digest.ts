// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";

const digestPattern = /^sha256:[0-9a-f]{64}$/;

/** Whether a text is the kind of digest we read and write. */
export function isDigest(text: string): boolean {
  return digestPattern.test(text);
}

/** The digest of some bytes. */
export function digestOf(bytes: Uint8Array | string): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** The hexadecimal part of a digest. */
export function hexOf(digest: string): string {
  return digest.slice("sha256:".length);
}
