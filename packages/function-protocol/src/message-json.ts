// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { create, type EnumType, type Field, type Message, type MessageType, type ValueType } from "./descriptor.ts";
import { Duration } from "./gen/duration.ts";
import { Timestamp } from "./gen/timestamp.ts";
import { isProtocolError, ProtocolError } from "./protocol-error.ts";
import { Struct } from "./struct.ts";
import { decodeStrictJson, isJsonObject, type JsonObject, type JsonValue, setOwn } from "./struct-decode.ts";

/**
 * Reads the protobuf-JSON form of a message, with lowerCamelCase or .proto names. Throws a ProtocolError that names the
 * path of the first member that is unknown or of a wrong type. `null` stands for an absent field.
 */
export function fromJson<T extends Message>(type: MessageType<T>, json: unknown): T {
  return readMessage(type, json, "") as T;
}

function readMessage(type: MessageType<Message>, json: unknown, path: string): Message {
  if (type === Duration) return readDuration(json, path);
  if (type === Timestamp) return readTimestamp(json, path);
  if (!isJsonObject(json)) throw wrongType(path, "an object", json);
  const message = create(type);
  const seen = new Set<string>();
  for (const [key, value] of Object.entries(json)) {
    const field = type.fields.find(({ name, protoName }) => name === key || protoName === key);
    const at = member(path, key);
    if (field === undefined) throw unknownMember(type, at, key);
    if (value === null) continue;
    const property = field.oneof ?? field.name;
    if (seen.has(property))
      throw invalid(at, `${field.oneof ? "only one of its group may be set" : "it is given twice"}`);
    seen.add(property);
    (message as Record<string, unknown>)[property] = readField(field, value, at);
  }
  return message;
}

function readField(field: Field, json: unknown, path: string): unknown {
  switch (field.cardinality) {
    case "implicit":
    case "optional":
      return readValue(field.value, json, path);
    case "oneof":
      return { case: field.name, value: readValue(field.value, json, path) };
    case "list":
      if (!Array.isArray(json)) throw wrongType(path, "a list", json);
      return json.map((item, index) => readValue(field.value, item, `${path}[${index}]`));
    case "map":
      if (!isJsonObject(json)) throw wrongType(path, "an object", json);
      return new Map(Object.entries(json).map(([key, item]) => [key, readValue(field.value, item, member(path, key))]));
  }
}

function readValue(type: ValueType, json: unknown, path: string): unknown {
  switch (type.kind) {
    case "message":
      return readMessage(type.message(), json, path);
    case "struct":
      return readStruct(json, path);
    case "enum":
      return readEnum(type.enum, json, path);
    case "scalar":
      return readScalar(type.scalar, json, path);
  }
}

function readStruct(json: unknown, path: string): Struct {
  if (!isJsonObject(json)) throw wrongType(path, "an object", json);
  try {
    return Struct.rounded(json);
  } catch (error) {
    if (!isProtocolError(error)) throw error;
    const inner = error.path ?? "";
    const whole = inner === "" || inner.startsWith("[") ? `${path}${inner}` : `${path}.${inner}`;
    throw new ProtocolError(error.code, `${path}: ${error.message}`, { cause: error, path: whole });
  }
}

function readEnum(type: EnumType, json: unknown, path: string): number {
  if (isInt32(json)) return json;
  const number = typeof json === "string" && Object.hasOwn(type.values, json) ? type.values[json] : undefined;
  if (number === undefined) throw wrongType(path, `one of ${Object.keys(type.values).join(", ")}`, json);
  return number;
}

function readScalar(scalar: string, json: unknown, path: string): unknown {
  switch (scalar) {
    case "string":
      if (typeof json !== "string") throw wrongType(path, "a string", json);
      return json;
    case "bool":
      if (typeof json !== "boolean") throw wrongType(path, "true or false", json);
      return json;
    case "bytes":
      return readBytes(json, path);
    case "int64":
      return readInt64(json, path);
    default:
      return readInt32(json, path);
  }
}

/** Whole groups of four digits; the last one may be shorter, with or without the `=` that fill it. */
const base64 = /^(?:[\w+/-]{4})*(?:[\w+/-]{2}(?:==)?|[\w+/-]{3}=?)?$/;

function readBytes(json: unknown, path: string): Uint8Array {
  if (typeof json !== "string" || !base64.test(json)) throw wrongType(path, "base64", json);
  return Uint8Array.from(Buffer.from(json, "base64"));
}

function readInt64(json: unknown, path: string): bigint {
  const isExact = typeof json === "bigint" || Number.isSafeInteger(json);
  const text = isExact ? String(json) : json;
  if (typeof text !== "string" || !/^-?\d{1,19}$/.test(text)) throw wrongType(path, "an integer", json);
  const value = BigInt(text);
  if (BigInt.asIntN(64, value) !== value) throw wrongType(path, "an integer of 64 bits", json);
  return value;
}

/** Numbers are also accepted as strings, as for 64 bits. */
function readInt32(json: unknown, path: string): number {
  const value = typeof json === "string" && /^-?\d{1,10}$/.test(json) ? Number(json) : json;
  if (!isInt32(value)) throw wrongType(path, "an integer", json);
  return value;
}

function isInt32(value: unknown): value is number {
  return typeof value === "number" && (value | 0) === value;
}

function readDuration(json: unknown, path: string): Duration {
  const match = typeof json === "string" ? /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/.exec(json) : null;
  if (match === null) throw wrongType(path, 'a duration such as "60s" or "1.5s"', json);
  const sign = match[1] === "-" ? -1 : 1;
  const seconds = BigInt(match[2] ?? "0") * BigInt(sign);
  const nanos = nanosOf(match[3]) * sign;
  if (seconds > maxDuration || seconds < -maxDuration) throw wrongType(path, "a duration of at most 10000 years", json);
  return create(Duration, { seconds, nanos: nanos === 0 ? 0 : nanos });
}

/** The largest number of seconds of a google.protobuf.Duration. */
const maxDuration = 315_576_000_000n;

function nanosOf(fraction = ""): number {
  return Number(fraction.padEnd(9, "0"));
}

function readTimestamp(json: unknown, path: string): Timestamp {
  const pattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;
  const [, local, fraction, zone] = typeof json === "string" ? (pattern.exec(json) ?? []) : [];
  const seconds = Date.parse(`${local}${zone}`) / 1000;
  // A day that its month does not have is read as a day of the next one.
  const isDate = isTime(seconds) && new Date(`${local}Z`).toISOString() === `${local}.000Z`;
  if (!isDate) throw wrongType(path, 'a time such as "2026-01-02T03:04:05Z"', json);
  return create(Timestamp, { seconds: BigInt(seconds), nanos: nanosOf(fraction) });
}

/** Whether seconds since 1970 are in the years 1 to 9999, which a google.protobuf.Timestamp can hold. */
function isTime(seconds: number): boolean {
  return seconds >= -62_135_596_800 && seconds <= 253_402_300_799;
}

function member(path: string, key: string): string {
  if (!/^[A-Za-z_][\w-]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

function unknownMember(type: MessageType<Message>, path: string, key: string): ProtocolError {
  const name = type.typeName.slice(type.typeName.lastIndexOf(".") + 1);
  return invalid(path, `${name} has no field "${key}"; it has ${type.fields.map((field) => field.name).join(", ")}`);
}

function wrongType(path: string, expected: string, json: unknown): ProtocolError {
  const text = typeof json === "bigint" ? String(json) : (JSON.stringify(json, rounded) ?? typeof json);
  return invalid(path, `expected ${expected}, not ${text.length > 60 ? `${text.slice(0, 57)}…` : text}`);
}

const rounded = (_key: string, value: unknown): unknown => (typeof value === "bigint" ? Number(value) : value);

function invalid(path: string, problem: string): ProtocolError {
  return new ProtocolError("INVALID_JSON", `${path || "the message"}: ${problem}`, { path });
}

/**
 * The protobuf-JSON form of a message: lowerCamelCase names, enums by name, bytes as base64, Structs as plain JSON;
 * what is absent or empty is left out. Throws when a Struct holds what JSON cannot show.
 */
export function toJson<T extends Message>(type: MessageType<T>, message: T): JsonObject {
  const json: JsonObject = {};
  const fields = message as Record<string, unknown>;
  for (const field of type.fields) {
    const value = fieldToJson(field, fields[field.oneof ?? field.name]);
    if (value !== undefined) json[field.name] = value;
  }
  return json;
}

function fieldToJson(field: Field, value: unknown): JsonValue | undefined {
  if (value === undefined) return undefined;
  switch (field.cardinality) {
    case "implicit":
      return isZero(value) ? undefined : valueToJson(field.value, value);
    case "optional":
      return valueToJson(field.value, value);
    case "oneof": {
      const chosen = value as { readonly case: string; readonly value: unknown };
      return chosen.case === field.name ? valueToJson(field.value, chosen.value) : undefined;
    }
    case "list": {
      const list = value as readonly unknown[];
      return list.length === 0 ? undefined : list.map((item) => valueToJson(field.value, item));
    }
    case "map":
      return mapToJson(field, value as ReadonlyMap<string, unknown>);
  }
}

function mapToJson(field: Field, map: ReadonlyMap<string, unknown>): JsonObject | undefined {
  if (map.size === 0) return undefined;
  const json: JsonObject = {};
  for (const [key, value] of map) setOwn(json, key, valueToJson(field.value, value));
  return json;
}

function valueToJson(type: ValueType, value: unknown): JsonValue {
  switch (type.kind) {
    case "struct":
      return decodeStrictJson((value as Struct).bytes);
    case "message": {
      const message = type.message();
      if (message === Timestamp) return timestampToJson(value as Timestamp);
      return message === Duration ? durationToJson(value as Duration) : toJson(message, value as Message);
    }
    case "enum":
      return enumToJson(type.enum, value as number);
    case "scalar":
      if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
      return typeof value === "bigint" ? String(value) : (value as string | number | boolean);
  }
}

function enumToJson(type: EnumType, number: number): string | number {
  return Object.entries(type.values).find(([, value]) => value === number)?.[0] ?? number;
}

/** A Duration as protobuf-JSON writes it: seconds with no, three, six or nine digits after the point. */
function durationToJson({ seconds, nanos }: Duration): string {
  const sign = seconds < 0n || nanos < 0 ? "-" : "";
  const whole = seconds < 0n ? -seconds : seconds;
  return `${sign}${whole}${fractionOf(Math.abs(nanos))}s`;
}

function fractionOf(nanos: number): string {
  return nanos === 0
    ? ""
    : `.${String(nanos)
        .padStart(9, "0")
        .replace(/(000){1,2}$/, "")}`;
}

/** A Timestamp as protobuf-JSON writes it: RFC 3339 in UTC. */
function timestampToJson({ seconds, nanos }: Timestamp): string {
  if (!isTime(Number(seconds)) || nanos < 0 || nanos > 999_999_999) {
    throw new ProtocolError("INVALID_VALUE", "a Timestamp holds a time that JSON cannot show");
  }
  const [second] = new Date(Number(seconds) * 1000).toISOString().split(".");
  return `${second}${fractionOf(nanos)}Z`;
}

function isZero(value: unknown): boolean {
  return value === "" || value === 0 || value === false || value === 0n || (value as Uint8Array).length === 0;
}
