// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";

/** Bytes that are not a protobuf message. */
export class ProtobufError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ProtobufError";
  }
}

/** One field on the wire: a varint, eight bytes, or a range. */
export type WireField =
  | { readonly number: number; readonly wireType: 0; readonly value: bigint }
  | { readonly number: number; readonly wireType: 1; readonly value: number }
  | { readonly number: number; readonly wireType: 2; readonly value: Buffer };

/** Reads the fields of a message one after the other. Fields of wire types Kubernetes does not use are passed over. */
export function* readFields(bytes: Buffer): Generator<WireField, void, undefined> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new ProtobufError("unexpected EOF");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw new ProtobufError("integer overflow");
  };
  const range = (size: number): Buffer => {
    if (size < 0 || size > bytes.length - at) throw new ProtobufError("unexpected EOF");
    at += size;
    return bytes.subarray(at - size, at);
  };
  while (at < bytes.length) {
    const tag = Number(BigInt.asUintN(32, varint()));
    const number = tag >>> 3;
    if (number === 0) throw new ProtobufError(`illegal tag ${number} (wire type ${tag & 7})`);
    switch (tag & 7) {
      case 0:
        yield { number, wireType: 0, value: varint() };
        break;
      case 1:
        yield { number, wireType: 1, value: range(8).readDoubleLE() };
        break;
      case 2:
        yield { number, wireType: 2, value: range(Number(varint())) };
        break;
      case 5:
        range(4);
        break;
      default:
        throw new ProtobufError(`illegal wireType ${tag & 7}`);
    }
  }
}

/** The last value of each field of a message that is not a list. */
export function lastFields(bytes: Buffer): Map<number, WireField["value"]> {
  const fields = new Map<number, WireField["value"]>();
  for (const { number, value } of readFields(bytes)) fields.set(number, value);
  return fields;
}

/** The bytes of a field, or none. */
export function bytesOf(value: WireField["value"] | undefined): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
}
