// SPDX-License-Identifier: Apache-2.0
import { TypedFormError } from "./typed-error.ts";

/** Bytes in base64, in the form that Go writes. Throws a TypedFormError with Go's message when the text is not base64. */
export function canonicalBase64(text: string): string {
  const canonical = Buffer.from(text, "base64").toString("base64");
  // Node takes whatever it can; only what comes out as it went in is certain.
  if (canonical === text) return text;
  const at = illegalByte(Buffer.from(text));
  if (at !== undefined) throw new TypedFormError(`illegal base64 data at input byte ${at}`);
  return canonical;
}

const alphabet = new Set(Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"));
const padding = 0x3d;

/** Where Go's decoder would stop: at a byte it does not know, or at the group that is not complete. */
function illegalByte(bytes: Uint8Array): number | undefined {
  let digits = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (isLineBreak(byte)) continue;
    if (alphabet.has(byte)) {
      digits = (digits + 1) % 4;
      continue;
    }
    return byte === padding && digits >= 2 ? illegalAfterPadding(bytes, at + 1, digits === 2) : at;
  }
  return digits === 0 ? undefined : bytes.length - digits;
}

/** What may follow the first sign of padding: the second where one is due, and nothing else but line breaks. */
function illegalAfterPadding(bytes: Uint8Array, from: number, needsAnother: boolean): number | undefined {
  let at = afterLineBreaks(bytes, from);
  if (needsAnother) {
    if (at === bytes.length) return bytes.length;
    if (bytes[at] !== padding) return at - 1;
    at = afterLineBreaks(bytes, at + 1);
  }
  return at < bytes.length ? at : undefined;
}

function afterLineBreaks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && isLineBreak(bytes[at] ?? 0)) at++;
  return at;
}

function isLineBreak(byte: number): boolean {
  return byte === 0x0a || byte === 0x0d;
}
