// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { ProtocolError } from "./protocol-error.ts";
import { explainUnencodable } from "./struct-problem.ts";
import { putDouble, putString, putVarint, reserve, stringRoom, type WriteBuffer, withBuffer } from "./wire-writer.ts";

/**
 * How many messages may be nested. A JSON object costs three, so this is a thousand objects: far beyond any schema or
 * resource, less than Go peers take (10,000), and safe on the default stack.
 */
export const maxMessageDepth = 3_000;

// Tags of google.protobuf.Value and of the map entries of google.protobuf.Struct.
const tagNull = 0x08;
const tagNumber = 0x11;
const tagString = 0x1a;
const tagBool = 0x20;
const tagStruct = 0x2a;
const tagList = 0x32;
const tagField = 0x0a;
const tagKey = 0x0a;
const tagValue = 0x12;

/** Room for what stands around a value: tags, lengths, a number. */
const frameRoom = 64;

/** How the members of an object are ordered on the wire. */
export type MemberOrder = "insertion" | "sorted";

/** The bytes of a google.protobuf.Struct. Throws, naming the path, on a value that JSON cannot hold. */
export function encodeStruct(object: object, order: MemberOrder = "insertion"): Buffer {
  const sorted = order === "sorted";
  try {
    const plain = plainForm(object);
    if (typeof plain !== "object" || plain === null || Array.isArray(plain)) throw invalid("it is not a JSON object");
    return withBuffer((buffer, end) => new StructWriter(buffer, sorted).object(plain, end, 1));
  } catch (error) {
    throw explainUnencodable(object, error);
  }
}

class StructWriter {
  readonly bytes: Buffer;
  readonly keys: string[];
  readonly sorted: boolean;
  readonly #inherits: boolean;

  constructor(buffer: WriteBuffer, sorted: boolean) {
    this.bytes = buffer.bytes;
    this.keys = buffer.keys;
    this.sorted = sorted;
    this.#inherits = hasEnumerableMembers(Object.prototype);
  }

  object(object: object, end: number, depth: number): number {
    if (depth > maxMessageDepth) throw tooDeep();
    const { bytes, keys } = this;
    const base = keys.length;
    this.#pushKeys(object);
    let position = end;
    while (keys.length > base) {
      const key = keys.pop() as string;
      const value = (object as Record<string, unknown>)[key];
      if (value === undefined) continue;
      const memberEnd = position;
      position = this.value(value, position, depth + 3);
      reserve(position, stringRoom(key) + frameRoom);
      position = putVarint(bytes, memberEnd - position, position);
      bytes[--position] = tagValue;
      position = putString(bytes, key, position);
      bytes[--position] = tagKey;
      position = putVarint(bytes, memberEnd - position, position);
      bytes[--position] = tagField;
    }
    return position;
  }

  /** `for in` visits members without making an array of them, but only where none are inherited. */
  #pushKeys(object: object): void {
    const { keys } = this;
    if (this.sorted) for (const key of Object.keys(object).sort(compareUtf8)) keys.push(key);
    else if (this.#inherits) for (const key of Object.keys(object)) keys.push(key);
    else for (const key in object) keys.push(key);
  }

  value(value: unknown, end: number, depth: number): number {
    const { bytes } = this;
    let position = end;
    switch (typeof value) {
      case "string":
        reserve(position, stringRoom(value) + frameRoom);
        position = putString(bytes, value, position);
        bytes[--position] = tagString;
        return position;
      case "number":
        return this.#number(value, position);
      case "boolean":
        reserve(position, frameRoom);
        bytes[--position] = value ? 1 : 0;
        bytes[--position] = tagBool;
        return position;
      case "object":
        if (value !== null) return this.#nested(value, position, depth);
        reserve(position, frameRoom);
        bytes[--position] = 0;
        bytes[--position] = tagNull;
        return position;
      case "bigint":
        return this.#number(exactNumber(value), position);
      default:
        throw invalid(`a ${typeof value} has no JSON form`);
    }
  }

  #number(value: number, end: number): number {
    if (!Number.isFinite(value)) throw invalid(`${value} has no JSON form`);
    reserve(end, frameRoom);
    const position = putDouble(this.bytes, value, end) - 1;
    this.bytes[position] = tagNumber;
    return position;
  }

  #nested(value: object, end: number, depth: number): number {
    if (Array.isArray(value)) return this.#list(value, end, depth);
    const plain = plainForm(value);
    if (plain !== value) return this.value(plain, end, depth + 1);
    const start = this.object(value, end, depth);
    reserve(start, frameRoom);
    const position = putVarint(this.bytes, end - start, start) - 1;
    this.bytes[position] = tagStruct;
    return position;
  }

  #list(list: readonly unknown[], end: number, depth: number): number {
    if (depth > maxMessageDepth) throw tooDeep();
    let position = end;
    for (let i = list.length - 1; i >= 0; i--) {
      const itemEnd = position;
      position = this.value(list[i] ?? null, position, depth + 2);
      reserve(position, frameRoom);
      position = putVarint(this.bytes, itemEnd - position, position);
      this.bytes[--position] = tagField;
    }
    reserve(position, frameRoom);
    position = putVarint(this.bytes, end - position, position) - 1;
    this.bytes[position] = tagList;
    return position;
  }
}

function exactNumber(value: bigint): number {
  const number = Number(value);
  if (BigInt(number) !== value) throw invalid(`${value} cannot be written as a double without loss`);
  return number;
}

/** What JSON makes of an object that is not plain: base64 of bytes, the result of toJSON(), or an error. */
function plainForm(value: object): unknown {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.length).toString("base64");
  if (value instanceof Date) throw invalid("a Date has no JSON form; write it as a string with toISOString()");
  if ("toJSON" in value && typeof value.toJSON === "function") return (value as { toJSON(): unknown }).toJSON();
  // An object of another realm has another Object.prototype; what marks it is that nothing stands above it.
  if (Object.getPrototypeOf(prototype) === null && !(value instanceof Map) && !(value instanceof Set)) return value;
  throw invalid(`a ${value.constructor?.name || "class instance"} has no JSON form`);
}

function hasEnumerableMembers(object: object): boolean {
  for (const _ in object) return true;
  return false;
}

function invalid(message: string): ProtocolError {
  return new ProtocolError("INVALID_VALUE", message);
}

function tooDeep(): ProtocolError {
  return new ProtocolError("TOO_DEEP", "the object is nested too deeply; does it contain itself?");
}

/** Orders strings by their UTF-8 bytes, which differs from JavaScript's order above the surrogates. */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1;
  }
  return a.length - b.length;
}

const isSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdfff;
