// SPDX-License-Identifier: Apache-2.0
import { Buffer, isUtf8 } from "node:buffer";
import { ProtocolError } from "./protocol-error.ts";

/** The wire types of protobuf. */
export const WireType = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;

/** Strings up to this length are read by a loop; longer ones are worth a native call. */
const shortString = 6;
const maxGroupDepth = 100;

/** Reads protobuf from the start of a byte range to its end. */
export class WireReader {
  readonly bytes: Buffer;
  position: number;
  readonly end: number;

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.position = 0;
    this.end = this.bytes.length;
  }

  byte(): number {
    const value = this.bytes[this.position++];
    if (value === undefined) throw truncated();
    return value;
  }

  /** A varint as an unsigned number; bits above 2^53 are dropped, as no length or tag has them. */
  varint(): number {
    const first = this.byte();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    let scale = 128;
    for (let i = 1; i < 10; i++) {
      const next = this.byte();
      if (i < 8) value += (next & 0x7f) * scale;
      if (next < 0x80) return value;
      scale *= 128;
    }
    throw new ProtocolError("MALFORMED", "a varint is longer than ten bytes");
  }

  varint64(): bigint {
    let value = 0n;
    for (let i = 0n; i < 10n; i++) {
      const next = this.byte();
      value |= BigInt(next & 0x7f) << (7n * i);
      if (next < 0x80) return BigInt.asIntN(64, value);
    }
    throw new ProtocolError("MALFORMED", "a varint is longer than ten bytes");
  }

  /** A varint as a signed 32-bit number: how int32 and enum values travel. */
  int32(): number {
    const next = this.bytes[this.position];
    if (next === undefined || next >= 0x80) return Number(BigInt.asIntN(32, this.varint64()));
    this.position++;
    return next;
  }

  double(): number {
    const at = this.advance(8);
    return this.bytes.readDoubleLE(at);
  }

  /** Moves past `size` bytes and returns where they start. */
  advance(size: number): number {
    const at = this.position;
    if (size > this.end - at) throw truncated();
    this.position = at + size;
    return at;
  }

  /** A length-delimited range, not copied. */
  range(): Buffer {
    const size = this.varint();
    const at = this.advance(size);
    return this.bytes.subarray(at, at + size);
  }

  /** A length-delimited UTF-8 string. */
  string(): string {
    const size = this.varint();
    const at = this.advance(size);
    return readString(this.bytes, at, size);
  }

  /** Moves past the value of a field this reader does not know. */
  skip(wireType: number, depth = 0): void {
    switch (wireType) {
      case WireType.varint:
        this.varint();
        return;
      case WireType.fixed64:
        this.advance(8);
        return;
      case WireType.bytes:
        this.advance(this.varint());
        return;
      case WireType.fixed32:
        this.advance(4);
        return;
      case WireType.startGroup:
        this.#skipGroup(depth);
        return;
      default:
        throw new ProtocolError("MALFORMED", `wire type ${wireType} does not exist`);
    }
  }

  #skipGroup(depth: number): void {
    if (depth >= maxGroupDepth) throw new ProtocolError("TOO_DEEP", "groups are nested too deeply");
    for (;;) {
      const wireType = this.varint() & 7;
      if (wireType === WireType.endGroup) return;
      this.skip(wireType, depth + 1);
    }
  }
}

function truncated(): ProtocolError {
  return new ProtocolError("MALFORMED", "the message ends in the middle of a field");
}

/** Reads `size` bytes of UTF-8 at `at`. Throws when they are not UTF-8. */
export function readString(bytes: Buffer, at: number, size: number): string {
  if (size <= shortString) {
    const text = readAscii(bytes, at, size);
    if (text !== undefined) return text;
  }
  const text = bytes.toString("utf8", at, at + size);
  // Decoding puts U+FFFD where the bytes are wrong, so only a text that holds one needs the second look.
  if (text.includes("\uFFFD") && !isUtf8(bytes.subarray(at, at + size))) {
    throw new ProtocolError("INVALID_UTF8", "a string is not valid UTF-8");
  }
  return text;
}

function readAscii(bytes: Buffer, at: number, size: number): string | undefined {
  let text = "";
  for (let i = at; i < at + size; i++) {
    const code = bytes[i] as number;
    if (code >= 0x80) return undefined;
    text += String.fromCharCode(code);
  }
  return text;
}
