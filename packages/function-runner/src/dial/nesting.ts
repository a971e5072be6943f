// SPDX-License-Identifier: Apache-2.0
import { maxMessageDepth, type RunFunctionResponse, type Struct } from "@purlin/function-protocol";

// A nested message costs two bytes, a tag and a length, so anything smaller cannot be too deep.
const smallestSuspect = maxMessageDepth * 2;

/**
 * The path of the first object of a response that is nested deeper than anybody can read, or undefined. Nothing is
 * decoded: an object nobody reads stays bytes, but it must not travel on and fail some other function.
 */
export function tooDeepIn(response: RunFunctionResponse): string | undefined {
  const { desired, context, output } = response;
  if (isTooDeep(desired?.composite?.resource)) return "desired.composite.resource";
  for (const [name, { resource }] of desired?.resources ?? []) {
    if (isTooDeep(resource)) return `desired.resources[${JSON.stringify(name)}].resource`;
  }
  if (isTooDeep(context)) return "context";
  return isTooDeep(output) ? "output" : undefined;
}

function isTooDeep(struct: Struct | undefined): boolean {
  return struct !== undefined && struct.bytes.length >= smallestSuspect && depthExceeds(struct.bytes, maxMessageDepth);
}

/** Which fields of google.protobuf's Struct, its map entries, Value and ListValue hold which message. */
const children: Readonly<Record<Kind, Readonly<Record<number, Kind>>>> = {
  struct: { 1: "entry" },
  entry: { 2: "value" },
  value: { 5: "struct", 6: "list" },
  list: { 1: "value" },
};
type Kind = "struct" | "entry" | "value" | "list";

/** Walks the messages of a Struct without recursion. Bytes that make no sense are left to whoever reads them. */
export function depthExceeds(bytes: Uint8Array, limit: number): boolean {
  const open: { readonly kind: Kind; readonly end: number }[] = [{ kind: "struct", end: bytes.length }];
  const at = { position: 0 };
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    if (at.position >= top.end) {
      open.pop();
      continue;
    }
    const tag = varint(bytes, at);
    const size = sizeOf(bytes, at, tag & 7);
    if (size === undefined || at.position + size > top.end) return false;
    const kind = (tag & 7) === 2 ? children[top.kind][tag >>> 3] : undefined;
    if (kind === undefined) at.position += size;
    else if (open.push({ kind, end: at.position + size }) > limit) return true;
  }
  return false;
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
