// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { decodeStruct, type JsonObject } from "./struct-decode.ts";
import { encodeStruct } from "./struct-encode.ts";
import { sortStruct } from "./struct-sort.ts";

const brand = Symbol.for("purlin.dev/struct");
const constructing = Symbol("Struct");

/**
 * Adds bytes to a Struct that is still being decoded: joining the bytes of two messages merges them. Collected here
 * and joined once, so that a peer cannot make it quadratic by sending one field a million times.
 */
export let appendTo: (struct: Struct, more: Uint8Array) => Struct;

/** The Struct encoded from `start` to `end` of bytes that came from the wire, as {@link Struct.fromBytes} takes it over. */
export let structAt: (bytes: Uint8Array, start: number, end: number) => Struct;

/**
 * A google.protobuf.Struct: a JSON object as it travels. It never changes, so requests, responses, steps and
 * reconciles share it freely. It holds the encoded bytes and decodes them on first access: a Struct that is not read
 * is never decoded, and one that is not changed is never encoded again.
 */
export class Struct {
  #bytes: Uint8Array;
  // Where the message is in #bytes, or -1 when it is all of them: a view of its own costs more than the rest of a
  // Struct that is not read.
  #start = -1;
  #end = -1;
  #more: Uint8Array[] | undefined;
  #value: JsonObject | undefined;
  #canonical: Uint8Array | undefined;

  private constructor(bytes: Uint8Array, key: symbol) {
    if (key !== constructing) throw new TypeError("use Struct.from(object) or Struct.fromBytes(bytes)");
    this.#bytes = bytes;
  }

  static {
    structAt = (bytes, start, end) => {
      const struct = new Struct(bytes, constructing);
      struct.#start = start;
      struct.#end = end;
      return struct;
    };
    appendTo = (struct, more) => {
      struct.#more ??= [];
      struct.#more.push(more);
      return struct;
    };
  }

  /** Encodes a JSON object. Later changes of the object do not show. Throws on what JSON cannot hold. */
  static from(object: object): Struct {
    return new Struct(encodeStruct(object), constructing);
  }

  /** Like {@link Struct.from}, but an integer that a double cannot hold becomes the nearest double, as other runners send it. */
  static rounded(object: object): Struct {
    return new Struct(encodeStruct(object, "insertion", Number), constructing);
  }

  /** Takes over bytes that came from the wire. They are checked when the Struct is read. */
  static fromBytes(bytes: Uint8Array): Struct {
    return new Struct(bytes, constructing);
  }

  /** The encoded message. Do not change it. */
  get bytes(): Uint8Array {
    if (this.#start >= 0) {
      this.#bytes = this.#bytes.subarray(this.#start, this.#end);
      this.#start = -1;
    }
    if (this.#more !== undefined) {
      this.#bytes = Buffer.concat([this.#bytes, ...this.#more]);
      this.#more = undefined;
    }
    return this.#bytes;
  }

  /** The JSON object, frozen all the way down and decoded once. */
  get value(): JsonObject {
    this.#value ??= decodeStruct(this.bytes, "frozen");
    return this.#value;
  }

  /** A private copy of the JSON object, to be changed at will. */
  toMutable(): JsonObject {
    return decodeStruct(this.bytes, "mutable");
  }

  /** True when the object has no members. */
  get isEmpty(): boolean {
    return this.bytes.length === 0 || Object.keys(this.value).length === 0;
  }

  /** The bytes with the members of every object sorted: the same for equal objects, independent of the encoder. */
  get canonicalBytes(): Uint8Array {
    this.#canonical ??= sortStruct(this.bytes) ?? encodeStruct(this.value, "sorted");
    return this.#canonical;
  }

  /** A short text that is the same for equal objects. */
  get fingerprint(): string {
    return createHash("sha256").update(this.canonicalBytes).digest("base64url");
  }

  /** True when both hold the same JSON, whatever the order of members. */
  equals(other: Struct): boolean {
    return this === other || sameBytes(this.bytes, other.bytes) || sameBytes(this.canonicalBytes, other.canonicalBytes);
  }

  toJSON(): JsonObject {
    return this.value;
  }
}

Object.defineProperty(Struct.prototype, brand, { value: true });
// Prints as the object it holds in logs and failed assertions.
Object.defineProperty(Struct.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value(this: Struct): JsonObject {
    return this.value;
  },
});

/** Whether a value is a {@link Struct}, also when two copies of this package are loaded. */
export function isStruct(value: unknown): value is Struct {
  return typeof value === "object" && value !== null && brand in value;
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
