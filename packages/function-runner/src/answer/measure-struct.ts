// SPDX-License-Identifier: Apache-2.0
import { maxMessageDepth } from "@purlin/function-protocol";

/** How large an object may be. */
interface StructLimits {
  /** Messages inside one another. */
  readonly depth: number;
  readonly values: number;
}

/** Why an object is not accepted. */
type StructExcess = "depth" | "values";

/** A field costs two bytes, a tag and a length. So does a nested message, so that nothing smaller can be too deep. */
const fieldBytes = 2;
/** A member of an object is four fields: the entry, its name, its value and what kind of value. */
const fieldsPerValue = 4;

/** Which fields of google.protobuf's Struct, its map entries, Value and ListValue hold which message. */
const children: Readonly<Record<Kind, Readonly<Record<number, Kind>>>> = {
  struct: { 1: "entry" },
  entry: { 2: "value" },
  value: { 5: "struct", 6: "list" },
  list: { 1: "value" },
};
type Kind = "struct" | "entry" | "value" | "list";

/** Whether a Struct is too deep or has too many values. Decodes nothing, and does not even look at one that is small. */
export function excessOf(bytes: Uint8Array, values: number): StructExcess | undefined {
  const isSmall = bytes.length < fieldBytes * Math.min(maxMessageDepth, values);
  return isSmall ? undefined : measureStruct(bytes, { depth: maxMessageDepth, values });
}

/** Walks the messages of a Struct without recursion, up to the first one too many. Bytes that make no sense are left to the reader. */
export function measureStruct(bytes: Uint8Array, { depth, values }: StructLimits): StructExcess | undefined {
  const open: { readonly kind: Kind; readonly end: number }[] = [{ kind: "struct", end: bytes.length }];
  const at = { position: 0 };
  let fields = 0;
  let found = 0;
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    if (at.position >= top.end) {
      open.pop();
      continue;
    }
    const tag = varint(bytes, at);
    const size = sizeOf(bytes, at, tag & 7);
    if (size === undefined || at.position + size > top.end) return undefined;
    const kind = (tag & 7) === 2 ? children[top.kind][tag >>> 3] : undefined;
    if (kind === "value") found++;
    // Unknown fields are not values, and take as long to read.
    if (found > values || ++fields > (fieldsPerValue + 1) * values) return "values";
    if (kind === undefined) at.position += size;
    else if (open.push({ kind, end: at.position + size }) > depth) return "depth";
  }
  return undefined;
}

function sizeOf(bytes: Uint8Array, at: { position: number }, wireType: number): number | undefined {
  if (wireType === 2) return varint(bytes, at);
  if (wireType === 1) return 8;
  if (wireType === 5) return 4;
  if (wireType !== 0) return undefined;
  varint(bytes, at);
  return 0;
}

function varint(bytes: Uint8Array, at: { position: number }): number {
  let value = 0;
  for (let scale = 1; at.position < bytes.length; scale *= 128) {
    const byte = bytes[at.position++] as number;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) break;
  }
  return value;
}
