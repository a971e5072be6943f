// SPDX-License-Identifier: Apache-2.0
import { ProtocolError } from "./protocol-error.ts";
import { maxMessageDepth } from "./struct-encode.ts";
import { readName, readText } from "./struct-keys.ts";
import { WireReader } from "./wire-reader.ts";

// Tags of google.protobuf.Value, ListValue and the map entries of Struct.
const tagNull = 0x08;
const tagNumber = 0x11;
const tagString = 0x1a;
const tagBool = 0x20;
const tagStruct = 0x2a;
const tagList = 0x32;
const tagField = 0x0a;
const tagKey = 0x0a;
const tagValue = 0x12;

/** Whether the caller may change a decoded object. */
type Mutability = "frozen" | "mutable";

/** The JSON object inside the bytes of a google.protobuf.Struct. */
export function decodeStruct(bytes: Uint8Array, mutability: Mutability): JsonObject {
  return read(new StructReader(bytes, mutability === "frozen", false));
}

/** As {@link decodeStruct}, but throws on what JSON cannot show: NaN, an infinity, a value without a kind. */
export function decodeStrictJson(bytes: Uint8Array): JsonObject {
  return read(new StructReader(bytes, false, true));
}

function read(reader: StructReader): JsonObject {
  try {
    return reader.object(reader.end, 1);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ProtocolError("TOO_DEEP", "a Struct is nested too deeply to be read", { cause: error });
  }
}

class StructReader extends WireReader {
  readonly #frozen: boolean;
  readonly #strict: boolean;

  constructor(bytes: Uint8Array, frozen: boolean, strict: boolean) {
    super(bytes);
    this.#frozen = frozen;
    this.#strict = strict;
  }

  object(end: number, depth: number): JsonObject {
    if (depth > maxMessageDepth) throw tooDeep();
    const object: JsonObject = {};
    while (this.position < end) {
      const tag = this.varint();
      if (tag === tagField) this.#entry(object, depth);
      else this.skip(tag & 7);
    }
    this.#finish(end);
    return this.#frozen ? Object.freeze(object) : object;
  }

  #entry(object: JsonObject, depth: number): void {
    const end = this.#nestedEnd();
    let key = "";
    let value: JsonValue = null;
    while (this.position < end) {
      const tag = this.varint();
      if (tag === tagKey) key = this.#key();
      else if (tag === tagValue) value = this.#value(this.#nestedEnd(), depth + 2);
      else this.skip(tag & 7);
    }
    this.#finish(end);
    setOwn(object, key, value);
  }

  #value(end: number, depth: number): JsonValue {
    let value: JsonValue = null;
    if (this.#strict && this.position === end) throw notJson("a value without a kind");
    while (this.position < end) {
      const tag = this.varint();
      switch (tag) {
        case tagString:
          value = this.#text();
          break;
        case tagNumber:
          value = this.#number();
          break;
        case tagBool:
          value = this.varint() !== 0;
          break;
        case tagStruct:
          value = this.object(this.#nestedEnd(), depth + 1);
          break;
        case tagList:
          value = this.#list(this.#nestedEnd(), depth + 1);
          break;
        case tagNull:
          this.varint();
          value = null;
          break;
        default:
          this.skip(tag & 7);
      }
    }
    this.#finish(end);
    return value;
  }

  #list(end: number, depth: number): JsonValue[] {
    if (depth > maxMessageDepth) throw tooDeep();
    const list: JsonValue[] = [];
    while (this.position < end) {
      const tag = this.varint();
      if (tag === tagField) list.push(this.#value(this.#nestedEnd(), depth + 1));
      else this.skip(tag & 7);
    }
    this.#finish(end);
    return this.#frozen ? (Object.freeze(list) as JsonValue[]) : list;
  }

  /** JSON has no NaN or Infinity; Go peers show them as these strings. */
  #number(): number | string {
    const value = this.double();
    if (Number.isFinite(value)) return value;
    if (this.#strict) throw notJson(String(value));
    return String(value);
  }

  #key(): string {
    const size = this.varint();
    return readName(this.bytes, this.advance(size), size);
  }

  #text(): string {
    const size = this.varint();
    return readText(this.bytes, this.advance(size), size);
  }

  #nestedEnd(): number {
    const size = this.varint();
    const end = this.position + size;
    if (end > this.end) throw new ProtocolError("MALFORMED", "a nested message is longer than the message around it");
    return end;
  }

  #finish(end: number): void {
    if (this.position !== end) throw new ProtocolError("MALFORMED", "a field is longer than the message around it");
  }
}

function notJson(what: string): ProtocolError {
  return new ProtocolError("INVALID_VALUE", `a Struct holds ${what}, which JSON cannot show`);
}

function tooDeep(): ProtocolError {
  return new ProtocolError("TOO_DEEP", `a Struct is nested deeper than ${maxMessageDepth} messages`);
}

/** Anything JSON can say. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  [key: string]: JsonValue;
}

/** Sets an own property whatever its name: a plain assignment to `__proto__` would change the prototype. */
export function setOwn(object: JsonObject, key: string, value: JsonValue): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

/** True for an object that is neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
