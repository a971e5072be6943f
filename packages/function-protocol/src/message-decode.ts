// SPDX-License-Identifier: Apache-2.0
import { create, type Field, type Message, type MessageType, type ValueType, zeroOf } from "./descriptor.ts";
import { isProtocolError, ProtocolError } from "./protocol-error.ts";
import { appendTo, Struct, structAt } from "./struct.ts";
import { readText } from "./struct-keys.ts";
import { WireReader, WireType } from "./wire-reader.ts";

export type Fields = Record<string, unknown>;

/**
 * Reads a message. Structs are left as ranges of `bytes`, which must not change afterwards. Throws a ProtocolError
 * that names the message and field when the bytes are not such a message, and one that names the limit when there is too much in it.
 */
export function decode<T extends Message>(
  type: MessageType<T>,
  bytes: Uint8Array,
  limits: DecodeLimits = defaultDecodeLimits,
): T {
  const reader = new MessageReader(bytes, limits);
  return readAll({ type, message: create(type), end: reader.end, known: reader.position }, reader);
}

/** Reads fields, and stops at the first one too many. */
export class MessageReader extends WireReader {
  readonly #maxFields: number;
  readonly #entries: ReadonlyMap<Field, EntryLimit>;
  #fields = 0;

  constructor(bytes: Uint8Array, { fields, entries }: DecodeLimits) {
    super(bytes);
    this.#maxFields = fields;
    this.#entries = entries;
  }

  /** The tag of the next field, whether it is known or not: a peer may send two bytes millions of times. */
  tag(): number {
    if (++this.#fields > this.#maxFields) throw tooLarge(`more than ${this.#maxFields} fields`);
    return this.varint();
  }

  /** Checks the size of a map or list that has just got one more entry. */
  checkEntries(field: Field, size: number): void {
    const limit = this.#entries.get(field);
    if (limit !== undefined && size > limit.most) throw tooLarge(`more than ${limit.most} ${limit.what}`);
  }
}

/** Reads all fields of a message. One reader serves all nested messages: a view of its own for each would cost more. */
function readAll<T extends Message>(open: OpenMessage<T>, reader: MessageReader): T {
  while (reader.position < open.end) readNext(open, reader);
  return finish(open, reader);
}

/** A message whose fields are being read. */
export interface OpenMessage<T extends Message> {
  readonly type: MessageType<T>;
  readonly message: T;
  readonly end: number;
  /** Up to where fields were known. */
  known: number;
}

export function readNext<T extends Message>(open: OpenMessage<T>, reader: MessageReader): void {
  const { type, message, known } = open;
  const start = reader.position;
  const tag = readTag(reader, type);
  const field = type.byNumber.get(tag >>> 3);
  const wireType = tag & 7;
  try {
    if (field === undefined || !accepts(field, wireType)) {
      reader.skip(wireType);
      return;
    }
    if (start > known) keepUnknown(open, reader, start);
    if (wireType === WireType.bytes && isPackable(field)) readPacked(field, message as Fields, reader);
    else readField(field, message as Fields, reader);
    open.known = reader.position;
  } catch (error) {
    throw inField(error, type, field?.name ?? `field ${tag >>> 3}`);
  }
}

export function finish<T extends Message>(open: OpenMessage<T>, reader: MessageReader): T {
  checkEnd(reader, open.end);
  if (open.end > open.known) keepUnknown(open, reader, open.end);
  return open.message;
}

/** Where a length-delimited part that starts here ends. */
export function nestedEnd(reader: MessageReader): number {
  const size = reader.varint();
  const end = reader.position + size;
  if (end > reader.end) throw malformed("the message ends in the middle of a field");
  return end;
}

function checkEnd(reader: MessageReader, end: number): void {
  if (reader.position !== end) throw malformed("a field is longer than the message around it");
}

function readTag(reader: MessageReader, type: MessageType<Message>): number {
  const tag = reader.tag();
  if (tag < 8 || tag > 0xffff_ffff) throw inField(malformed(`tag ${tag} has no field number`), type, undefined);
  return tag;
}

/** A field that arrives with another wire type is one we do not know, as in every other protobuf implementation. */
function accepts(field: Field, wireType: number): boolean {
  const expected = wireTypeOf(field);
  return wireType === expected || (wireType === WireType.bytes && isPackable(field));
}

function wireTypeOf({ cardinality, value }: Field): number {
  if (cardinality === "map") return WireType.bytes;
  return valueWireType(value);
}

function valueWireType(value: ValueType): number {
  if (value.kind === "enum") return WireType.varint;
  if (value.kind !== "scalar") return WireType.bytes;
  return value.scalar === "string" || value.scalar === "bytes" ? WireType.bytes : WireType.varint;
}

function isPackable({ cardinality, value }: Field): boolean {
  return cardinality === "list" && valueWireType(value) === WireType.varint;
}

function readField(field: Field, message: Fields, reader: MessageReader): void {
  switch (field.cardinality) {
    case "implicit":
    case "optional":
      message[field.name] = readValue(field.value, reader, message[field.name]);
      return;
    case "oneof":
      readOneof(field, message, reader);
      return;
    case "list":
      readItem(field, message[field.name] as unknown[], reader);
      return;
    case "map":
      readEntry(field, message[field.name] as Map<string, unknown>, reader);
  }
}

function readOneof(field: Field, message: Fields, reader: MessageReader): void {
  const property = field.oneof ?? field.name;
  const before = message[property] as { readonly case: string; readonly value: unknown } | undefined;
  const earlier = before?.case === field.name ? before.value : undefined;
  message[property] = { case: field.name, value: readValue(field.value, reader, earlier) };
}

function readItem(field: Field, list: unknown[], reader: MessageReader): void {
  reader.checkEntries(field, list.push(readValue(field.value, reader, undefined)));
}

/** The numbers of a list in one length-delimited field. */
function readPacked(field: Field, message: Fields, reader: MessageReader): void {
  const list = message[field.name] as unknown[];
  const end = nestedEnd(reader);
  while (reader.position < end) list.push(readValue(field.value, reader, undefined));
  checkEnd(reader, end);
}

/** A map entry whose key or value is missing stands for the empty one. */
function readEntry(field: Field, map: Map<string, unknown>, reader: MessageReader): void {
  const end = nestedEnd(reader);
  const valueTag = 16 + valueWireType(field.value);
  let key = "";
  let value: unknown;
  while (reader.position < end) {
    const tag = reader.tag();
    if (tag === 10) key = readKey(reader);
    else if (tag === valueTag) value = readValue(field.value, reader, value);
    else reader.skip(tag & 7);
  }
  checkEnd(reader, end);
  map.set(key, value ?? emptyMapValue(field.value));
  reader.checkEntries(field, map.size);
}

/** Names of resources come back with every call, so they are remembered like other short texts. */
function readKey(reader: MessageReader): string {
  const size = reader.varint();
  return readText(reader.bytes, reader.advance(size), size);
}

function emptyMapValue(type: ValueType): unknown {
  if (type.kind === "message") return create(type.message());
  if (type.kind === "struct") return Struct.fromBytes(new Uint8Array(0));
  return zeroOf(type);
}

/** A message field that occurs twice is merged; for a Struct, merging is joining the bytes. */
function readValue(type: ValueType, reader: MessageReader, earlier: unknown): unknown {
  switch (type.kind) {
    case "enum":
      return reader.int32();
    case "message": {
      const nested = type.message();
      const end = nestedEnd(reader);
      const message = (earlier as Message | undefined) ?? create(nested);
      return readAll({ type: nested, message, end, known: reader.position }, reader);
    }
    case "struct":
      return readStruct(reader, earlier as Struct | undefined);
    case "scalar":
      return readScalar(type.scalar, reader);
  }
}

function readStruct(reader: MessageReader, earlier: Struct | undefined): Struct {
  if (earlier !== undefined) return appendTo(earlier, reader.range());
  const size = reader.varint();
  const start = reader.advance(size);
  return structAt(reader.bytes, start, start + size);
}

function readScalar(scalar: string, reader: MessageReader): unknown {
  switch (scalar) {
    case "string":
      return reader.string();
    case "bytes":
      return Uint8Array.prototype.slice.call(reader.range());
    case "bool":
      return reader.varint() !== 0;
    case "int64":
      return reader.varint64();
    default:
      return reader.int32();
  }
}

/** Keeps the run of unknown fields from the last known one to `end` in one piece. */
export function keepUnknown({ message, known }: OpenMessage<Message>, reader: MessageReader, end: number): void {
  message.$unknown ??= [];
  message.$unknown.push(reader.bytes.subarray(known, end));
}

function malformed(message: string): ProtocolError {
  return new ProtocolError("MALFORMED", message);
}

function tooLarge(message: string): ProtocolError {
  return new ProtocolError("TOO_LARGE", message);
}

export function inField(error: unknown, type: MessageType<Message>, field: string | undefined): unknown {
  // What is too large says itself what it is.
  if (!isProtocolError(error) || error.code === "TOO_LARGE") return error;
  const name = type.typeName.slice(type.typeName.lastIndexOf(".") + 1);
  const place = field === undefined ? name : `${name}.${field}`;
  return new ProtocolError(error.code, `${place}: ${error.message}`, { cause: error });
}

/** How many entries a map or list may have, and what they are in an error. */
export interface EntryLimit {
  readonly most: number;
  /** Such as `desired resources`. */
  readonly what: string;
}

/** How much a message may hold. Reading stops at the first field or entry too many. */
export interface DecodeLimits {
  /**
   * Fields of the message, with those of the messages in it. A field of two bytes can become an object of a hundred; a peer that
   * fills a message with such fields would exhaust the memory of the reader.
   */
  readonly fields: number;
  readonly entries: ReadonlyMap<Field, EntryLimit>;
}

/** What holds for messages of any type. */
export const defaultDecodeLimits: DecodeLimits = { fields: 1_000_000, entries: new Map() };

/** The maps and lists of a message type with their limits, by the names of the fields. */
export function entryLimits<T extends Message>(
  type: MessageType<T>,
  limits: Partial<Record<keyof T & string, EntryLimit>>,
): readonly (readonly [Field, EntryLimit])[] {
  return type.fields.flatMap((field) => {
    const limit = (limits as Readonly<Record<string, EntryLimit | undefined>>)[field.name];
    return limit === undefined ? [] : [[field, limit] as const];
  });
}
