// SPDX-License-Identifier: Apache-2.0
// Fields of protobuf messages as bytes.

const varintType = 0n;
const fixed64Type = 1n;
const bytesType = 2n;

/** A whole number. */
export function varintField(number: number, value: bigint): Uint8Array {
  return Uint8Array.from([...tag(number, varintType), ...varint(BigInt.asUintN(64, value))]);
}

/** A fraction. */
export function doubleField(number: number, value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Uint8Array.from([...tag(number, fixed64Type), ...bytes]);
}

export function textField(number: number, text: string): Uint8Array {
  return bytesField(number, Buffer.from(text));
}

/** Bytes, or a message. */
export function bytesField(number: number, bytes: Uint8Array): Uint8Array {
  const head = [...tag(number, bytesType), ...varint(BigInt(bytes.length))];
  const field = new Uint8Array(head.length + bytes.length);
  field.set(head);
  field.set(bytes, head.length);
  return field;
}

/** Fields one after the other: a message. */
export function concatenated(fields: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(fields);
}

function tag(number: number, wireType: bigint): number[] {
  return varint((BigInt(number) << 3n) | wireType);
}

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return bytes;
}
