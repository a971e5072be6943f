// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { compareUtf8 } from "@purlin/base";
import { isProtocolError, ProtocolError } from "./protocol-error.ts";
import { putKey } from "./struct-keys.ts";
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
const tagValue = 0x12;

/** Room for what stands around a value: tags, lengths, a number. */
const frameRoom = 64;
const isOwn = Object.prototype.hasOwnProperty;

/** How the members of an object are ordered on the wire. */
type MemberOrder = "insertion" | "sorted";

/** The double of an integer. Struct numbers are doubles. */
type ToDouble = (value: bigint) => number;

/** The bytes of a google.protobuf.Struct. Throws, naming the path, on a value that JSON cannot hold. */
export function encodeStruct(
  object: object,
  order: MemberOrder = "insertion",
  toDouble: ToDouble = exactDouble,
): Buffer {
  try {
    const plain = plainForm(object);
    if (typeof plain !== "object" || plain === null || Array.isArray(plain)) throw invalid("it is not a JSON object");
    const listMembers = order === "sorted" ? pushSorted : pushMembers;
    return withBuffer((buffer, end) => putMembers({ buffer, listMembers, toDouble, depth: 1 }, plain, end));
  } catch (error) {
    throw explainUnencodable(object, error);
  }
}

/** One encoding under way. */
interface Writing {
  readonly buffer: WriteBuffer;
  /** Puts the names and values of an object's members on the stack. */
  readonly listMembers: (object: Readonly<Record<string, unknown>>, pending: unknown[]) => void;
  readonly toDouble: ToDouble;
  /** How many messages are nested around the next value. */
  depth: number;
}

function putMembers(writing: Writing, object: object, end: number): number {
  const { bytes, pending } = writing.buffer;
  enter(writing, 3);
  const base = pending.length;
  writing.listMembers(object as Record<string, unknown>, pending);
  let position = end;
  while (pending.length > base) {
    const value = pending.pop();
    const key = pending.pop() as string;
    if (value === undefined) continue;
    const memberEnd = position;
    position = putValue(writing, value, position);
    reserve(position, stringRoom(key) + frameRoom);
    position = putVarint(bytes, memberEnd - position, position);
    bytes[--position] = tagValue;
    position = putKey(writing.buffer, key, position);
    position = putVarint(bytes, memberEnd - position, position);
    bytes[--position] = tagField;
  }
  writing.depth -= 3;
  return position;
}

/** `for in` reaches names and values without a list of either; leaving out what is inherited costs it nothing. */
function pushMembers(object: Readonly<Record<string, unknown>>, pending: unknown[]): void {
  for (const key in object) if (isOwn.call(object, key)) pending.push(key, object[key]);
}

function pushSorted(object: Readonly<Record<string, unknown>>, pending: unknown[]): void {
  for (const key of Object.keys(object).sort(compareUtf8)) pending.push(key, object[key]);
}

/** Comparisons instead of a `switch`: V8 turns `typeof x === "string"` into one check, a switch into a call. */
function putValue(writing: Writing, value: unknown, end: number): number {
  const { bytes } = writing.buffer;
  if (typeof value === "string") {
    reserve(end, stringRoom(value) + frameRoom);
    const position = putString(bytes, value, end) - 1;
    bytes[position] = tagString;
    return position;
  }
  if (typeof value === "object" && value !== null) return putNested(writing, value, end);
  if (typeof value === "number") return putNumber(writing, value, end);
  if (typeof value === "boolean") return putBool(bytes, value, end);
  if (value === null) return putNull(bytes, end);
  if (typeof value === "bigint") return putNumber(writing, writing.toDouble(value), end);
  throw invalid(`a ${typeof value} has no JSON form`);
}

function putBool(bytes: Buffer, value: boolean, end: number): number {
  reserve(end, frameRoom);
  bytes[end - 1] = value ? 1 : 0;
  bytes[end - 2] = tagBool;
  return end - 2;
}

function putNull(bytes: Buffer, end: number): number {
  reserve(end, frameRoom);
  bytes[end - 1] = 0;
  bytes[end - 2] = tagNull;
  return end - 2;
}

function putNumber({ buffer }: Writing, value: number, end: number): number {
  if (!Number.isFinite(value)) throw invalid(`${value} has no JSON form`);
  reserve(end, frameRoom);
  const position = putDouble(buffer, value, end) - 1;
  buffer.bytes[position] = tagNumber;
  return position;
}

function putNested(writing: Writing, value: object, end: number): number {
  if (Array.isArray(value)) return putList(writing, value, end);
  // Asking for the prototype is a slow call; an object that has this constructor inherits nothing that JSON would show.
  const plain = value.constructor === Object ? value : plainForm(value);
  if (plain !== value) return putOtherForm(writing, plain, end);
  const { bytes } = writing.buffer;
  const start = putMembers(writing, value, end);
  reserve(start, frameRoom);
  const position = putVarint(bytes, end - start, start) - 1;
  bytes[position] = tagStruct;
  return position;
}

/** What toJSON() gave may have a toJSON() of its own, for ever. */
function putOtherForm(writing: Writing, value: unknown, end: number): number {
  enter(writing, 1);
  const position = putValue(writing, value, end);
  writing.depth -= 1;
  return position;
}

function putList(writing: Writing, list: readonly unknown[], end: number): number {
  const { bytes } = writing.buffer;
  enter(writing, 2);
  let position = end;
  for (let i = list.length - 1; i >= 0; i--) {
    const itemEnd = position;
    position = putValue(writing, list[i] ?? null, position);
    reserve(position, frameRoom);
    position = putVarint(bytes, itemEnd - position, position);
    bytes[--position] = tagField;
  }
  writing.depth -= 2;
  reserve(position, frameRoom);
  position = putVarint(bytes, end - position, position) - 1;
  bytes[position] = tagList;
  return position;
}

function enter(writing: Writing, messages: number): void {
  if (writing.depth > maxMessageDepth) throw tooDeep();
  writing.depth += messages;
}

function exactDouble(value: bigint): number {
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

function invalid(message: string): ProtocolError {
  return new ProtocolError("INVALID_VALUE", message);
}

function tooDeep(): ProtocolError {
  return new ProtocolError("TOO_DEEP", "the object is nested too deeply; does it contain itself?");
}

/**
 * Adds the path of the offending member to an error met while encoding. Looking for it afterwards keeps the
 * encoder free of bookkeeping that a correct object never needs.
 */
function explainUnencodable(root: object, error: unknown): unknown {
  if (error instanceof RangeError) {
    return new ProtocolError("TOO_DEEP", "the object is nested too deeply; does it contain itself?", { cause: error });
  }
  if (!isProtocolError(error) || error.code === "TOO_DEEP") return error;
  const path = findProblem(root, "", new Set());
  if (path === undefined) return error;
  return new ProtocolError(error.code, `${path || "the value"}: ${error.message}`, { cause: error, path });
}

/** The path of the last unencodable member in document order: the encoder walks backwards, so that is the one it met. */
function findProblem(value: unknown, path: string, parents: Set<object>): string | undefined {
  if (isUnencodable(value)) return path;
  if (typeof value !== "object" || value === null || parents.has(value)) return undefined;
  parents.add(value);
  for (const [key, member] of Object.entries(value).reverse()) {
    if (!key.isWellFormed()) return join(path, value, key);
    const found = member === undefined ? undefined : findProblem(member, join(path, value, key), parents);
    if (found !== undefined) return found;
  }
  parents.delete(value);
  return undefined;
}

function isUnencodable(value: unknown): boolean {
  switch (typeof value) {
    case "number":
      return !Number.isFinite(value);
    case "bigint":
      return BigInt(Number(value)) !== value;
    case "string":
      return !value.isWellFormed();
    case "function":
    case "symbol":
      return true;
    case "object":
      return value !== null && !Array.isArray(value) && !hasJsonForm(value);
    default:
      return false;
  }
}

function hasJsonForm(value: object): boolean {
  if (value instanceof Date || value instanceof Map || value instanceof Set) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return true;
  return value instanceof Uint8Array || "toJSON" in value;
}

function join(path: string, parent: object, key: string): string {
  if (Array.isArray(parent)) return `${path}[${key}]`;
  if (!/^[A-Za-z_][\w-]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}
