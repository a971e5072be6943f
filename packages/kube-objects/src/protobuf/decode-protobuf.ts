// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { goSeconds } from "../json/go-text.ts";
import { parseJson } from "../json/json-text.ts";
import { type JsonObject, type JsonValue, setOwnValue } from "../json/json-value.ts";
import { parseApiVersion } from "../object/kube-object.ts";
import {
  bytesOf,
  type FieldType,
  lastFields,
  messageFields,
  ProtobufError,
  type ProtobufField,
  readFields,
  type WireField,
} from "./protobuf-fields.ts";

const magic = Buffer.from("k8s\0");
const maxDepth = 200;

/** What came in a protobuf body: an object in its JSON form, or a type we have no field numbers for. */
type DecodedProtobuf =
  | { readonly known: true; readonly object: JsonObject }
  | { readonly known: false; readonly apiVersion: string; readonly kind: string };

/** Whether a body starts like Kubernetes' protobuf encoding. */
export function isKubernetesProtobuf(bytes: Uint8Array): boolean {
  return bytes.length >= magic.length && magic.every((byte, index) => bytes[index] === byte);
}

/**
 * Reads a body in Kubernetes' protobuf encoding into the JSON form of its object. Throws a ProtobufError on bytes that
 * are not such a body, in the reference server's words.
 */
export function decodeProtobuf(body: Uint8Array): DecodedProtobuf {
  if (!isKubernetesProtobuf(body)) {
    throw new ProtobufError(
      `provided data does not appear to be a protobuf message, expected prefix [${[...magic].join(" ")}]`,
    );
  }
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength).subarray(magic.length);
  const envelope = lastFields(bytes);
  const typeMeta = lastFields(bytesOf(envelope.get(1)));
  const apiVersion = bytesOf(typeMeta.get(1)).toString("utf8");
  const kind = bytesOf(typeMeta.get(2)).toString("utf8");
  const message = messageName(apiVersion, kind);
  if (message === undefined || messageFields(message) === undefined) return { known: false, apiVersion, kind };
  const fields = readMessage(message, bytesOf(envelope.get(2)), 0) as JsonObject;
  return { known: true, object: { apiVersion, kind, ...fields } };
}

/**
 * Options of a delete may come under the group of what is deleted; they are always the same message. An apiVersion that is malformed
 * has no messages.
 */
function messageName(apiVersion: string, kind: string): string | undefined {
  if (kind === "DeleteOptions") return "meta.v1.DeleteOptions";
  if (apiVersion.split("/").length > 2) return undefined;
  const { group, version } = parseApiVersion(apiVersion);
  return `${group === "" ? "core" : group.split(".", 1)[0]}.${version}.${kind}`;
}

function readMessage(name: string, bytes: Buffer, depth: number): JsonValue | undefined {
  if (depth > maxDepth) throw new ProtobufError("message is nested too deeply");
  const special = specialMessages[name];
  if (special !== undefined) return special(bytes, (inner, range) => readMessage(inner, range, depth + 1) ?? null);
  const object: Record<string, JsonValue> = {};
  writeFields({ name, bytes }, object, depth);
  return object;
}

function writeFields(
  { name, bytes }: { readonly name: string; readonly bytes: Buffer },
  object: Record<string, JsonValue>,
  depth: number,
): void {
  const fields = messageFields(name);
  if (fields === undefined) throw new ProtobufError(`no field numbers are known for ${name}`);
  const wire = Map.groupBy(readFields(bytes), (field) => field.number);
  for (const field of fields) {
    const values = wire.get(field.number) ?? [];
    if (field.inlined && field.type.kind === "message") {
      writeFields({ name: field.type.name, bytes: bytesOf(values.at(-1)?.value) }, object, depth + 1);
      continue;
    }
    const value = readField(field, values, depth);
    if (value !== undefined) object[field.name] = value;
  }
}

/** The JSON value of a field as Go would write it, or undefined where Go would leave it out. */
function readField(field: ProtobufField, values: readonly WireField[], depth: number): JsonValue | undefined {
  if (field.type.kind === "list" || field.type.kind === "map") {
    if (values.length === 0) return field.omitEmpty ? undefined : null;
    return field.type.kind === "list" ? readList(field.type.of, values, depth) : readMap(field.type.of, values, depth);
  }
  const last = values.at(-1);
  if (field.pointer)
    return last === undefined ? (field.omitEmpty ? undefined : null) : readValue(field.type, last, depth);
  if (field.type.kind === "message") {
    const message = readMessage(field.type.name, bytesOf(last?.value), depth + 1);
    return field.omitZero && isZeroMessage(message) ? undefined : message;
  }
  const value = last === undefined ? zeroOf(field.type) : readValue(field.type, last, depth);
  return field.omitEmpty && isZero(value) ? undefined : value;
}

function readList(of: FieldType, values: readonly WireField[], depth: number): JsonValue {
  return values.flatMap((value) => unpack(of, value).map((one) => readValue(of, one, depth) ?? null));
}

/** Numbers of a list may come packed into one range. */
function unpack(of: FieldType, field: WireField): WireField[] {
  const packed = of.kind === "scalar" && (of.scalar === "int32" || of.scalar === "int64") && field.wireType === 2;
  if (!packed) return [field];
  const numbers: WireField[] = [];
  let value = 0n;
  let shift = 0n;
  for (const byte of field.value) {
    value |= BigInt(byte & 0x7f) << shift;
    shift += 7n;
    if (byte >= 0x80) continue;
    numbers.push({ number: field.number, wireType: 0, value: BigInt.asIntN(64, value) });
    value = 0n;
    shift = 0n;
  }
  return numbers;
}

function readMap(of: FieldType, values: readonly WireField[], depth: number): JsonValue {
  const object: Record<string, JsonValue> = {};
  for (const entry of values) {
    const fields = new Map([...readFields(bytesOf(entry.value))].map((field) => [field.number, field]));
    const key = bytesOf(fields.get(1)?.value).toString("utf8");
    const value = fields.get(2);
    setOwnValue(object, key, (value === undefined ? emptyOf(of, depth) : readValue(of, value, depth)) ?? null);
  }
  return object;
}

function emptyOf(type: FieldType, depth: number): JsonValue | undefined {
  return type.kind === "message" ? readMessage(type.name, Buffer.alloc(0), depth + 1) : zeroOf(type);
}

function readValue(type: FieldType, field: WireField, depth: number): JsonValue | undefined {
  if (type.kind === "message") return readMessage(type.name, bytesOf(field.value), depth + 1);
  if (type.kind !== "scalar") return undefined;
  switch (type.scalar) {
    case "string":
      return bytesOf(field.value).toString("utf8");
    case "bytes":
      return bytesOf(field.value).toString("base64");
    case "bool":
      return field.wireType === 0 && field.value !== 0n;
    case "int32":
    case "int64":
      return field.wireType === 0 ? toInteger(field.value) : 0;
    case "float64":
      return field.wireType === 1 ? field.value : 0;
  }
}

function toInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function zeroOf(type: FieldType): JsonValue {
  if (type.kind !== "scalar") return null;
  if (type.scalar === "string" || type.scalar === "bytes") return "";
  return type.scalar === "bool" ? false : 0;
}

function isZero(value: JsonValue | undefined): boolean {
  return value === undefined || value === "" || value === 0 || value === false;
}

function isZeroMessage(message: JsonValue | undefined): boolean {
  if (message === undefined || message === null) return true;
  return typeof message === "object" && Object.keys(message).length === 0;
}

// Messages whose JSON form is not an object of their fields.

/** Reads a message of the named type from its bytes. */
type ReadMessage = (name: string, bytes: Buffer) => JsonValue;

/** Gives the JSON form of a message that has a form of its own; undefined stands for an absent value. */
const specialMessages: Readonly<Record<string, (bytes: Buffer, read: ReadMessage) => JsonValue | undefined>> = {
  "resource.Quantity": (bytes) => text(bytes, 1),
  "intstr.IntOrString": (bytes) => intOrString(bytes),
  "meta.v1.Time": (bytes) => time(bytes, 0),
  "meta.v1.MicroTime": (bytes) => time(bytes, 6),
  "meta.v1.FieldsV1": (bytes) => rawJson(bytes),
  "runtime.RawExtension": (bytes) => rawJson(bytes),
  "apiextensions.v1.JSON": (bytes) => rawJson(bytes),
  "apiextensions.v1.JSONSchemaPropsOrBool": (bytes, read) => {
    const fields = lastFields(bytes);
    const schema = fields.get(2);
    return schema === undefined ? fields.get(1) === 1n : read("apiextensions.v1.JSONSchemaProps", bytesOf(schema));
  },
  "apiextensions.v1.JSONSchemaPropsOrArray": (bytes, read) => {
    const one = lastFields(bytes).get(1);
    if (one !== undefined) return read("apiextensions.v1.JSONSchemaProps", bytesOf(one));
    return all(bytes, 2).map((item) => read("apiextensions.v1.JSONSchemaProps", item));
  },
  "apiextensions.v1.JSONSchemaPropsOrStringArray": (bytes, read) => {
    const one = lastFields(bytes).get(1);
    if (one !== undefined) return read("apiextensions.v1.JSONSchemaProps", bytesOf(one));
    return all(bytes, 2).map((item) => item.toString("utf8"));
  },
  "=list": (bytes) => all(bytes, 1).map((item) => item.toString("utf8")),
};

function text(bytes: Buffer, number: number): string {
  return bytesOf(lastFields(bytes).get(number)).toString("utf8");
}

function all(bytes: Buffer, number: number): Buffer[] {
  return [...readFields(bytes)].filter((field) => field.number === number).map((field) => bytesOf(field.value));
}

function intOrString(bytes: Buffer): JsonValue {
  const fields = lastFields(bytes);
  return fields.get(1) === 1n ? bytesOf(fields.get(3)).toString("utf8") : Number(fields.get(2) ?? 0n);
}

function time(bytes: Buffer, decimals: 0 | 6): JsonValue {
  const fields = lastFields(bytes);
  if (fields.size === 0) return null;
  const whole = fields.get(1);
  const seconds = typeof whole === "bigint" ? Number(BigInt.asIntN(64, whole)) : 0;
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) throw new ProtobufError(`time out of range: ${seconds} seconds`);
  const iso = goSeconds(date);
  if (decimals === 0) return `${iso}Z`;
  const nanos = Number(fields.get(2) ?? 0n);
  return `${iso}.${String(Math.trunc(nanos / 1000)).padStart(6, "0")}Z`;
}

function rawJson(bytes: Buffer): JsonValue | undefined {
  const raw = bytesOf(lastFields(bytes).get(1));
  try {
    return raw.length === 0 ? undefined : parseJson(raw.toString("utf8"));
  } catch (error) {
    throw new ProtobufError(error instanceof Error ? error.message : String(error));
  }
}
