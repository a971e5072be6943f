// SPDX-License-Identifier: Apache-2.0
// Kubernetes' protobuf encoding, written by hand from its field numbers: an encoder that is not ours would share our mistakes.

/** A field of a message: text, bytes, a nested message, or a number. */
export type ProtobufField = readonly [number: number, value: string | number | bigint | boolean | Uint8Array];

/** The bytes of a message. */
export function message(...fields: readonly ProtobufField[]): Uint8Array {
  return Buffer.concat(fields.map(([number, value]) => field(number, value)));
}

/** An object as a typed Go client sends it: the magic, then an envelope that names the type. */
export function envelope(apiVersion: string, kind: string, raw: Uint8Array): Uint8Array {
  const unknown = message([1, message([1, apiVersion], [2, kind])], [2, raw], [3, ""], [4, ""]);
  return Buffer.concat([Buffer.from("k8s\0"), unknown]);
}

export const protobufType = { "content-type": "application/vnd.kubernetes.protobuf" } as const;

function field(number: number, value: ProtobufField[1]): Uint8Array {
  if (typeof value === "string") return field(number, Buffer.from(value));
  if (value instanceof Uint8Array) {
    return Buffer.concat([varint((number << 3) | 2), varint(value.length), value]);
  }
  return Buffer.concat([varint(number << 3), varint(value)]);
}

function varint(value: number | bigint | boolean): Uint8Array {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
