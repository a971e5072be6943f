// SPDX-License-Identifier: Apache-2.0
import { create, type Field, type Message, type MessageType, type ValueType, zeroOf } from "./descriptor.ts";
import { isProtocolError, ProtocolError } from "./protocol-error.ts";
import { appendTo, Struct, structAt } from "./struct.ts";
import { readText } from "./struct-keys.ts";
import { WireReader, WireType } from "./wire-reader.ts";

type Fields = Record<string, unknown>;

/**
 * How many fields a message may have, with those of the messages in it. A field of two bytes can become an object of a
 * hundred; a peer that fills what a message may be long with such fields would exhaust the memory of whoever reads it.
 */
export const maxFields = 1_000_000;

/**
 * Reads a message. Structs are left as ranges of `bytes`, which must not change afterwards. Throws a ProtocolError
 * that names the message and field when the bytes are not such a message.
 */
export function decode<T extends Message>(type: MessageType<T>, bytes: Uint8Array): T {
  const reader = new WireReader(bytes);
  return readInto(type, create(type), reader, reader.end);
}

/** Reads fields up to `end`. One reader serves all nested messages: a view of its own for each would cost more. */
function readInto<T extends Message>(type: MessageType<T>, message: T, reader: WireReader, end: number): T {
  let known = reader.position;
  while (reader.position < end) {
    const start = reader.position;
    const tag = readTag(reader, type);
    const field = type.byNumber.get(tag >>> 3);
    const wireType = tag & 7;
    try {
      if (field === undefined || !accepts(field, wireType)) {
        reader.skip(wireType);
        continue;
      }
      if (start > known) keepUnknown(message, reader, known, start);
      readField(field, message as Fields, reader, wireType);
      known = reader.position;
    } catch (error) {
      throw inField(error, type, field?.name ?? `field ${tag >>> 3}`);
    }
  }
  checkEnd(reader, end);
  if (end > known) keepUnknown(message, reader, known, end);
  return message;
}

/** Where a length-delimited part that starts here ends. */
function nestedEnd(reader: WireReader): number {
  const size = reader.varint();
  const end = reader.position + size;
  if (end > reader.end) throw malformed("the message ends in the middle of a field");
  return end;
}

function checkEnd(reader: WireReader, end: number): void {
  if (reader.position !== end) throw malformed("a field is longer than the message around it");
}

function readTag(reader: WireReader, type: MessageType<Message>): number {
  const tag = reader.varint();
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

function readField(field: Field, message: Fields, reader: WireReader, wireType: number): void {
  if (++reader.fields > maxFields) throw malformed(`it has more than ${maxFields} fields`);
  switch (field.cardinality) {
    case "implicit":
    case "optional":
      message[field.name] = readValue(field.value, reader, message[field.name]);
      return;
    case "oneof":
      readOneof(field, message, reader);
      return;
    case "list":
      readList(field, message[field.name] as unknown[], reader, wireType);
      return;
    case "map":
      readEntry(field, message[field.name] as Map<string, unknown>, reader);
  }
}

function readOneof(field: Field, message: Fields, reader: WireReader): void {
  const property = field.oneof ?? field.name;
  const before = message[property] as { readonly case: string; readonly value: unknown } | undefined;
  const earlier = before?.case === field.name ? before.value : undefined;
  message[property] = { case: field.name, value: readValue(field.value, reader, earlier) };
}

function readList(field: Field, list: unknown[], reader: WireReader, wireType: number): void {
  if (wireType !== WireType.bytes || !isPackable(field)) {
    list.push(readValue(field.value, reader, undefined));
    return;
  }
  const end = nestedEnd(reader);
  while (reader.position < end) list.push(readValue(field.value, reader, undefined));
  checkEnd(reader, end);
}

/** A map entry whose key or value is missing stands for the empty one. */
function readEntry(field: Field, map: Map<string, unknown>, reader: WireReader): void {
  const end = nestedEnd(reader);
  const valueTag = 16 + valueWireType(field.value);
  let key = "";
  let value: unknown;
  while (reader.position < end) {
    const tag = reader.varint();
    if (tag === 10) key = readKey(reader);
    else if (tag === valueTag) value = readValue(field.value, reader, value);
    else reader.skip(tag & 7);
  }
  checkEnd(reader, end);
  map.set(key, value ?? emptyMapValue(field.value));
}

/** Names of resources come back with every call, so they are remembered like other short texts. */
function readKey(reader: WireReader): string {
  const size = reader.varint();
  return readText(reader.bytes, reader.advance(size), size);
}

function emptyMapValue(type: ValueType): unknown {
  if (type.kind === "message") return create(type.message());
  if (type.kind === "struct") return Struct.fromBytes(new Uint8Array(0));
  return zeroOf(type);
}

/** A message field that occurs twice is merged; for a Struct, merging is joining the bytes. */
function readValue(type: ValueType, reader: WireReader, earlier: unknown): unknown {
  switch (type.kind) {
    case "enum":
      return reader.int32();
    case "message": {
      const message = type.message();
      const end = nestedEnd(reader);
      return readInto(message, (earlier as Message | undefined) ?? create(message), reader, end);
    }
    case "struct":
      return readStruct(reader, earlier as Struct | undefined);
    case "scalar":
      return readScalar(type.scalar, reader);
  }
}

function readStruct(reader: WireReader, earlier: Struct | undefined): Struct {
  if (earlier !== undefined) return appendTo(earlier, reader.range());
  const size = reader.varint();
  const start = reader.advance(size);
  return structAt(reader.bytes, start, start + size);
}

function readScalar(scalar: string, reader: WireReader): unknown {
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

/** Keeps a run of unknown fields in one piece. */
function keepUnknown(message: Message, reader: WireReader, start: number, end: number): void {
  message.$unknown ??= [];
  message.$unknown.push(reader.bytes.subarray(start, end));
}

function malformed(message: string): ProtocolError {
  return new ProtocolError("MALFORMED", message);
}

function inField(error: unknown, type: MessageType<Message>, field: string | undefined): unknown {
  if (!isProtocolError(error)) return error;
  const name = type.typeName.slice(type.typeName.lastIndexOf(".") + 1);
  const place = field === undefined ? name : `${name}.${field}`;
  return new ProtocolError(error.code, `${place}: ${error.message}`, { cause: error });
}
