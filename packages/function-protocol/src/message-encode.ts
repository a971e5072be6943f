// SPDX-License-Identifier: Apache-2.0

import type { Buffer } from "node:buffer";
import { compareUtf8 } from "@purlin/base";
import type { Field, Message, MessageType, ValueType } from "./descriptor.ts";
import { isProtocolError, ProtocolError } from "./protocol-error.ts";
import { isStruct } from "./struct.ts";
import { WireType } from "./wire-reader.ts";
import {
  putBytes,
  putString,
  putVarint,
  putVarint64,
  reserve,
  stringRoom,
  type WriteBuffer,
  withBuffer,
} from "./wire-writer.ts";

const frameRoom = 64;

/** The key of a map entry. */
const keyField = { number: 1, value: { kind: "scalar", scalar: "string" } } as const;

type Fields = Record<string, unknown>;

/** What is encoded of a message. */
interface EncodeOptions {
  /** Leaves out fields that this version of the protocol does not know. Default: false. */
  readonly knownOnly?: boolean;
}

/** The bytes of a message, in the order in which its maps and objects were filled. */
export function encode<T extends Message>(type: MessageType<T>, message: T, options?: EncodeOptions): Buffer {
  return withBuffer((buffer, end) =>
    new MessageWriter(buffer, { ...options, sorted: false }).message(type, message, end),
  );
}

/** The bytes of a message with every map and object sorted: the same for equal messages. */
export function encodeCanonical<T extends Message>(type: MessageType<T>, message: T, options?: EncodeOptions): Buffer {
  return withBuffer((buffer, end) =>
    new MessageWriter(buffer, { ...options, sorted: true }).message(type, message, end),
  );
}

class MessageWriter {
  readonly #bytes: Buffer;
  readonly #sorted: boolean;
  readonly #knownOnly: boolean;

  constructor(buffer: WriteBuffer, { sorted, knownOnly = false }: EncodeOptions & { readonly sorted: boolean }) {
    this.#bytes = buffer.bytes;
    this.#sorted = sorted;
    this.#knownOnly = knownOnly;
  }

  /** Writes fields from the highest number down, because the buffer is filled from its end. */
  message<T extends Message>(type: MessageType<T>, message: T, end: number): number {
    let position = end;
    if (message.$unknown !== undefined && !this.#knownOnly) {
      for (const field of message.$unknown.toReversed()) position = this.#raw(field, position);
    }
    for (let i = type.fields.length - 1; i >= 0; i--) {
      const field = type.fields[i] as Field;
      try {
        position = this.#field(field, message as Fields, position);
      } catch (error) {
        throw inField(error, type, field);
      }
    }
    return position;
  }

  #field(field: Field, message: Fields, end: number): number {
    const value = message[field.oneof ?? field.name];
    if (value === undefined) return end;
    switch (field.cardinality) {
      case "implicit":
        return isZero(value) ? end : this.#tagged(field, value, end);
      case "optional":
        return this.#tagged(field, value, end);
      case "oneof":
        return this.#oneof(field, value as { readonly case: string; readonly value: unknown }, end);
      case "list":
        return this.#list(field, value as readonly unknown[], end);
      case "map":
        return this.#map(field, value as ReadonlyMap<string, unknown>, end);
    }
  }

  #oneof(field: Field, chosen: { readonly case: string; readonly value: unknown }, end: number): number {
    return chosen.case === field.name ? this.#tagged(field, chosen.value, end) : end;
  }

  #list(field: Field, list: readonly unknown[], end: number): number {
    if (!Array.isArray(list)) throw mismatch("a list", list);
    if (list.length === 0) return end;
    let position = end;
    const packed = field.value.kind === "enum" || (field.value.kind === "scalar" && field.value.scalar === "int32");
    for (let i = list.length - 1; i >= 0; i--) {
      position = packed ? this.#value(field.value, list[i], position) : this.#tagged(field, list[i], position);
    }
    return packed ? this.#delimit(field.number, end, position) : position;
  }

  #map(field: Field, map: ReadonlyMap<string, unknown>, end: number): number {
    if (typeof map?.keys !== "function") throw mismatch("a Map", map);
    if (map.size === 0) return end;
    const keys = [...map.keys()];
    if (this.#sorted) keys.sort(compareUtf8);
    const valueField = { number: 2, value: field.value };
    let position = end;
    for (let i = keys.length - 1; i >= 0; i--) {
      const key = keys[i] as string;
      const entryEnd = position;
      position = this.#tagged(valueField, map.get(key), position);
      position = this.#tagged(keyField, key, position);
      position = this.#delimit(field.number, entryEnd, position);
    }
    return position;
  }

  #tagged(field: { readonly number: number; readonly value: ValueType }, value: unknown, end: number): number {
    const position = this.#value(field.value, value, end);
    if (field.value.kind === "message" || field.value.kind === "struct") {
      return this.#delimit(field.number, end, position);
    }
    return putVarint(this.#bytes, field.number * 8 + wireTypeOf(field.value), position);
  }

  #value(type: ValueType, value: unknown, end: number): number {
    switch (type.kind) {
      case "scalar":
        return this.#scalar(type.scalar, value, end);
      case "enum":
        return this.#int32(value as number, end);
      case "message":
        if (typeof value !== "object" || value === null) throw mismatch("a message", value);
        return this.message(type.message(), value as Message, end);
      case "struct":
        if (!isStruct(value)) throw mismatch("a Struct, as Struct.from(object) makes it", value);
        return this.#raw(this.#sorted ? value.canonicalBytes : value.bytes, end);
    }
  }

  #scalar(scalar: string, value: unknown, end: number): number {
    reserve(end, frameRoom);
    switch (scalar) {
      case "string":
        if (typeof value !== "string") throw mismatch("a string", value);
        reserve(end, stringRoom(value) + frameRoom);
        return putString(this.#bytes, value, end);
      case "bytes": {
        if (!(value instanceof Uint8Array)) throw mismatch("bytes", value);
        const position = this.#raw(value, end);
        return putVarint(this.#bytes, end - position, position);
      }
      case "bool":
        return putVarint(this.#bytes, value === true ? 1 : 0, end);
      case "int64":
        if (typeof value !== "bigint") throw mismatch("a bigint", value);
        return putVarint64(this.#bytes, value, end);
      default:
        return this.#int32(value as number, end);
    }
  }

  #int32(value: number, end: number): number {
    if (!Number.isInteger(value)) throw mismatch("an integer", value);
    reserve(end, frameRoom);
    return value < 0 ? putVarint64(this.#bytes, BigInt(value), end) : putVarint(this.#bytes, value, end);
  }

  #raw(bytes: Uint8Array, end: number): number {
    reserve(end, bytes.length + frameRoom);
    return putBytes(this.#bytes, bytes, end);
  }

  #delimit(number: number, end: number, start: number): number {
    reserve(start, frameRoom);
    const position = putVarint(this.#bytes, end - start, start);
    return putVarint(this.#bytes, number * 8 + WireType.bytes, position);
  }
}

function wireTypeOf(type: ValueType): number {
  if (type.kind === "enum") return WireType.varint;
  if (type.kind !== "scalar") return WireType.bytes;
  return type.scalar === "string" || type.scalar === "bytes" ? WireType.bytes : WireType.varint;
}

function isZero(value: unknown): boolean {
  return value === "" || value === 0 || value === false || value === 0n || (value as Uint8Array | null)?.length === 0;
}

/**
 * Types do not hold in JavaScript, and a value of another type would be written as zeros or not at all. The value itself is
 * not shown: it may be secret.
 */
function mismatch(expected: string, value: unknown): ProtocolError {
  const found = value === null ? "null" : `a value of type ${typeof value}`;
  return new ProtocolError("INVALID_VALUE", `expected ${expected}, not ${found}`);
}

function inField(error: unknown, type: MessageType<Message>, field: Field): unknown {
  if (!isProtocolError(error)) return error;
  const place = type.typeName.slice(type.typeName.lastIndexOf(".") + 1);
  return new ProtocolError(error.code, `${place}.${field.name}: ${error.message}`, { cause: error });
}
