// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import type { EnumType, Field, Message, MessageType, ValueType } from "./descriptor.ts";
import { Duration } from "./gen/duration.ts";
import { type JsonObject, type JsonValue, setOwn } from "./json.ts";
import type { Struct } from "./struct.ts";
import { decodeStrictJson } from "./struct-decode.ts";

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
  const digits = String(Math.abs(nanos)).padStart(9, "0");
  const fraction = nanos === 0 ? "" : `.${digits.replace(/(000){1,2}$/, "")}`;
  return `${sign}${whole}${fraction}s`;
}

function isZero(value: unknown): boolean {
  return value === "" || value === 0 || value === false || value === 0n || (value as Uint8Array).length === 0;
}
