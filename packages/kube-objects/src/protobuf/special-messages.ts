// SPDX-License-Identifier: Apache-2.0
// Messages whose JSON form is not an object of their fields.
import type { Buffer } from "node:buffer";
import type { JsonValue } from "../json/json-value.ts";
import { parseJson } from "../json/parse-json.ts";
import { bytesOf, lastFields, readFields } from "./protobuf-reader.ts";

/** Reads a message of the named type from its bytes. */
type ReadMessage = (name: string, bytes: Buffer) => JsonValue;

/** Gives the JSON form of a message that has a form of its own; undefined stands for an absent value. */
export const specialMessages: Readonly<Record<string, (bytes: Buffer, read: ReadMessage) => JsonValue | undefined>> = {
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
  const seconds = Number(fields.get(1) ?? 0n);
  const iso = new Date(seconds * 1000).toISOString().slice(0, 19);
  if (decimals === 0) return `${iso}Z`;
  const nanos = Number(fields.get(2) ?? 0n);
  return `${iso}.${String(Math.trunc(nanos / 1000)).padStart(6, "0")}Z`;
}

function rawJson(bytes: Buffer): JsonValue | undefined {
  const raw = bytesOf(lastFields(bytes).get(1));
  return raw.length === 0 ? undefined : parseJson(raw.toString("utf8"));
}
