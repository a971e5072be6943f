// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { protobufFieldsJson } from "./gen/protobuf-fields.ts";

/** One field of a message of Kubernetes' protobuf encoding, and how Go would write it as JSON. */
export interface ProtobufField {
  readonly number: number;
  readonly name: string;
  readonly type: FieldType;
  /** Present on the wire is present in JSON, also when zero. */
  readonly pointer: boolean;
  /** Left out of JSON when zero. */
  readonly omitEmpty: boolean;
  /** A message left out of JSON when it is zero. */
  readonly omitZero: boolean;
  /** Its own fields stand in the message around it. */
  readonly inlined: boolean;
}

/** A field's type: scalars and messages by name, lists and maps of them. */
export type FieldType =
  | {
      readonly kind: "scalar";
      readonly scalar: "string" | "bool" | "int32" | "int64" | "float64" | "bytes";
      /** What Go calls it, where it is a type of its own: `v1.PullPolicy`. */
      readonly goName?: string;
    }
  | { readonly kind: "message"; readonly name: string }
  | { readonly kind: "list"; readonly of: FieldType; readonly goName?: string }
  | { readonly kind: "map"; readonly of: FieldType; readonly goName?: string };

type Row = readonly [number, string, string, string];

let table: Readonly<Record<string, string | readonly Row[]>> | undefined;
const messages = new Map<string, readonly ProtobufField[]>();

function rows(): Readonly<Record<string, string | readonly Row[]>> {
  table ??= JSON.parse(protobufFieldsJson) as Record<string, string | readonly Row[]>;
  return table;
}

/** The fields of a message in the order of its JSON form, or undefined when there is no such message. */
export function messageFields(name: string): readonly ProtobufField[] | undefined {
  const known = messages.get(name);
  if (known !== undefined) return known;
  const entry = Object.hasOwn(rows(), name) ? rows()[name] : undefined;
  if (entry === undefined || typeof entry === "string") return undefined;
  const fields = entry.map(toField);
  messages.set(name, fields);
  return fields;
}

/** The fields that stand in a message: its own, and those of the messages inlined in it. */
interface StandingFields {
  /** In the order of the JSON form. */
  readonly inOrder: readonly ProtobufField[];
  readonly names: ReadonlySet<string>;
}

const standing = new Map<string, StandingFields>();
const none: StandingFields = { inOrder: [], names: new Set() };

/** The fields that stand in a message, found once; none when there is no such message. */
export function standingFields(name: string): StandingFields {
  const known = standing.get(name);
  if (known !== undefined) return known;
  const own = messageFields(name);
  if (own === undefined) return none;
  const inOrder = own.flatMap((field) =>
    field.inlined && field.type.kind === "message" ? standingFields(field.type.name).inOrder : [field],
  );
  const fields = { inOrder, names: new Set(inOrder.map((field) => field.name)) };
  standing.set(name, fields);
  return fields;
}

function toField([number, name, type, flags]: Row): ProtobufField {
  return {
    number,
    name,
    type: parseType(type),
    pointer: flags.includes("p"),
    omitEmpty: flags.includes("o"),
    omitZero: flags.includes("z"),
    inlined: flags.includes("i"),
  };
}

const scalars = ["string", "bool", "int32", "int64", "float64"] as const;

function parseType(text: string): FieldType {
  if (text === "[]byte") return { kind: "scalar", scalar: "bytes" };
  if (text.startsWith("[]")) return { kind: "list", of: parseType(text.slice(2)) };
  if (text.startsWith("map[")) return parseMap(text);
  const scalar = scalars.find((name) => name === text);
  if (scalar !== undefined) return { kind: "scalar", scalar };
  if (text === "types.UID") return { kind: "scalar", scalar: "string", goName: text };
  const entry = Object.hasOwn(rows(), text) ? rows()[text] : undefined;
  if (typeof entry !== "string") return { kind: "message", name: text };
  const type = parseType(entry.slice(1));
  return type.kind === "message" ? type : { ...type, goName: shortName(text) };
}

const shortName = (text: string): string => text.split(".").slice(-2).join(".");

/** A map; with its name where that is not made of the types of its keys and values. */
function parseMap(text: string): FieldType {
  const end = text.indexOf("]");
  const [key, value] = [text.slice("map[".length, end), text.slice(end + 1)];
  const of = mapValueType(value);
  const isPlain = key === "string" && !(of.kind === "message" && of.name === "=list");
  return { kind: "map", of, ...(!isPlain && { goName: `map[${shortName(key)}]${shortName(value)}` }) };
}

/** A list cannot be the value of a protobuf map, so Go wraps it in a message with one repeated field. */
function mapValueType(text: string): FieldType {
  const type = parseType(text);
  return type.kind === "list" ? { kind: "message", name: "=list" } : type;
}

/** Bytes that are not a protobuf message. */
export class ProtobufError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ProtobufError";
  }
}

/** One field on the wire: a varint, eight bytes, or a range. */
export type WireField =
  | { readonly number: number; readonly wireType: 0; readonly value: bigint }
  | { readonly number: number; readonly wireType: 1; readonly value: number }
  | { readonly number: number; readonly wireType: 2; readonly value: Buffer };

/** Reads the fields of a message one after the other. Fields of wire types Kubernetes does not use are passed over. */
export function* readFields(bytes: Buffer): Generator<WireField, void, undefined> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new ProtobufError("unexpected EOF");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw new ProtobufError("integer overflow");
  };
  const range = (size: number): Buffer => {
    if (size < 0 || size > bytes.length - at) throw new ProtobufError("unexpected EOF");
    at += size;
    return bytes.subarray(at - size, at);
  };
  while (at < bytes.length) {
    const tag = Number(BigInt.asUintN(32, varint()));
    const number = tag >>> 3;
    if (number === 0) throw new ProtobufError(`illegal tag ${number} (wire type ${tag & 7})`);
    switch (tag & 7) {
      case 0:
        yield { number, wireType: 0, value: varint() };
        break;
      case 1:
        yield { number, wireType: 1, value: range(8).readDoubleLE() };
        break;
      case 2:
        yield { number, wireType: 2, value: range(Number(varint())) };
        break;
      case 5:
        range(4);
        break;
      default:
        throw new ProtobufError(`illegal wireType ${tag & 7}`);
    }
  }
}

/** The last value of each field of a message that is not a list. */
export function lastFields(bytes: Buffer): Map<number, WireField["value"]> {
  const fields = new Map<number, WireField["value"]>();
  for (const { number, value } of readFields(bytes)) fields.set(number, value);
  return fields;
}

/** The bytes of a field, or none. */
export function bytesOf(value: WireField["value"] | undefined): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
}
