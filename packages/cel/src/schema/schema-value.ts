// SPDX-License-Identifier: Apache-2.0

import { goQuote } from "@purlin/kube-objects/json";
import { Duration, epochSeconds, parseDuration, parseTimestamp, Timestamp } from "../values/time-values.ts";
import { CelError, type Meter, maxInt, OpaqueValue, type Value } from "../values/value.ts";
import { goTypeOf, isRawInteger, isRawObject, isSameJson, toRaw } from "./raw-json.ts";
import { SchemaList, SchemaMapList, SchemaSetList } from "./schema-list.ts";
import { SchemaMap } from "./schema-map.ts";
import type { SchemaNode } from "./schema-node.ts";

const wrongNull = new CelError("invalid data, got null for schema with nullable=false");
const wrongIntOrString = new CelError("invalid data, expected XIntOrString value to be either a string or integer");
const wrongObject = new CelError("invalid data, expected a map for the provided schema with type=object");
const wrongArray = new CelError("invalid data, expected an array for the provided schema with type=array");

/** JSON read through its schema. A value that does not fit the schema becomes an error at its place. */
export function schemaValue(raw: unknown, node: SchemaNode): Value {
  const { schema } = node;
  if (raw === null || raw === undefined) return schema.nullable ? null : wrongNull;
  if (schema["x-kubernetes-int-or-string"]) {
    if (typeof raw === "string") return raw;
    return isRawInteger(raw) ? BigInt(raw) : wrongIntOrString;
  }
  switch (schema.type) {
    case "object":
      return isRawObject(raw) ? new SchemaMap(raw, node, schemaValue) : wrongObject;
    case "array":
      return Array.isArray(raw) ? listValue(raw, node) : wrongArray;
    case "string":
      return typeof raw === "string" ? readText(raw, schema.format) : wrongType("string", raw);
    case "number":
      return typeof raw === "number" || typeof raw === "bigint" ? Number(raw) : wrongType("float", raw);
    case "integer":
      return isRawInteger(raw) ? BigInt(raw) : wrongType("int", raw);
    case "boolean":
      return typeof raw === "boolean" ? raw : wrongType("bool", raw);
    default:
      return schema["x-kubernetes-preserve-unknown-fields"] ? new UnknownData(raw) : wrongSchema(schema.type);
  }
}

function wrongType(expected: string, raw: unknown): CelError {
  return new CelError(`invalid data, expected ${expected}, got ${goTypeOf(raw)}`);
}

function wrongSchema(type = ""): CelError {
  return new CelError(
    "invalid type, expected object, array, number, integer, boolean or string, or no type with " +
      `x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ${type}`,
  );
}

function listValue(raw: readonly unknown[], node: SchemaNode): Value {
  const { items, schema } = node;
  if (!items) return new CelError("invalid array type, expected Items with a non-empty Schema");
  const parts = { items, read: schemaValue };
  switch (schema["x-kubernetes-list-type"]) {
    case "map":
      return new SchemaMapList(raw, { ...parts, keyNames: node.keyNames });
    case "set":
      return new SchemaSetList(raw, parts);
    default:
      return new SchemaList(raw, parts);
  }
}

/** Data under no schema. It can only be compared. */
class UnknownData extends OpaqueValue {
  readonly typeName = "unknown";
  readonly raw: unknown;

  constructor(raw: unknown) {
    super();
    this.raw = raw;
  }

  equals(other: Value, meter: Meter): boolean {
    return isSameJson(this.raw, other instanceof UnknownData ? other.raw : toRaw(other), meter);
  }

  override toString(): string {
    return "unknown";
  }
}

/** A string of the data as the value its format stands for. */
function readText(text: string, format: string | undefined): Value {
  switch (format) {
    case "duration":
      return parseDuration(text) ?? parseWordyDuration(text);
    case "date":
      return parseDate(text);
    case "date-time":
      return parseDateTime(text);
    case "byte":
      return parseBytes(text);
    default:
      return text;
  }
}

const units: readonly (readonly [names: readonly string[], prefix: string, nanos: bigint])[] = [
  [["ns"], "nano", 1n],
  [["us", "\u00b5s"], "micro", 1000n],
  [["ms"], "milli", 1_000_000n],
  [["s"], "sec", 1_000_000_000n],
  [["m"], "min", 60_000_000_000n],
  [["h", "hr"], "hour", 3_600_000_000_000n],
  [["d"], "day", 86_400_000_000_000n],
  [["w", "wk"], "week", 604_800_000_000_000n],
];

/** Durations such as `3 days 4 hours`, which OpenAPI's format takes too. */
function parseWordyDuration(text: string): Duration | CelError {
  let nanos = 0n;
  let isFound = false;
  for (const [, digits = "", word = ""] of text.matchAll(/(?<!\d)(\d+)\s*([A-Za-z\u00b5]+)/g)) {
    if (digits.length > 19 || BigInt(digits) > maxInt) {
      return new CelError(`Invalid duration ${text}: strconv.Atoi: parsing "${digits}": value out of range`);
    }
    const unit = word.toLowerCase();
    for (const [names, prefix, scale] of units) {
      if (!names.includes(unit) && !unit.startsWith(prefix)) continue;
      isFound = true;
      nanos += BigInt(digits) * scale;
    }
  }
  if (!isFound) return new CelError(`Invalid duration ${text}: unable to parse ${text} as duration`);
  return new Duration(BigInt.asIntN(64, nanos));
}

function parseDate(text: string): Timestamp | CelError {
  const [, ...parts] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  const seconds = parts.length === 3 ? epochSeconds(parts.map(Number)) : undefined;
  if (seconds !== undefined) return new Timestamp(seconds, 0);
  return new CelError(`Invalid date formatted string ${text}: ${timeProblem(text, dateElements)}`);
}

/** RFC 3339, also without a zone, and an empty string for the epoch. */
function parseDateTime(text: string): Timestamp | CelError {
  if (text === "") return new Timestamp(0, 0);
  const parsed = parseTimestamp(text) ?? parseTimestamp(`${text}Z`);
  return parsed ?? new CelError(`Invalid date-time formatted string ${text}: ${timeProblem(text, timeElements)}`);
}

/** A part of a layout of Go, with the name and the limits of its number. */
type Element = readonly [layout: string, pattern: RegExp, name?: string, least?: number, most?: number];

const dateElements: readonly Element[] = [
  ["2006", /^\d{4}/],
  ["-", /^-/],
  ["01", /^\d\d/, "month", 1, 12],
  ["-", /^-/],
  ["02", /^\d\d/],
];
const timeElements: readonly Element[] = [
  ...dateElements,
  ["T", /^T/],
  ["15", /^\d\d?/, "hour", 0, 23],
  [":", /^:/],
  ["04", /^\d\d/, "minute", 0, 59],
  [":", /^:/],
  ["05", /^\d\d/, "second", 0, 59],
];

/** Why Go does not read a text as a time. */
function timeProblem(text: string, elements: readonly Element[]): string {
  const start = `parsing time ${goQuote(text)}`;
  let rest = text;
  for (const [layout, pattern, name, least = 0, most = 0] of elements) {
    const [found] = pattern.exec(rest) ?? [];
    if (found === undefined) {
      const whole = elements.map(([part]) => part).join("");
      return `${start} as ${goQuote(whole)}: cannot parse ${goQuote(rest)} as ${goQuote(layout)}`;
    }
    const number = Number(found);
    if (name !== undefined && (number < least || number > most)) return `${start}: ${name} out of range`;
    rest = rest.slice(found.length);
    // A fraction is read though the layout has none.
    if (name === "second") rest = rest.replace(/^[.,]\d+/, "");
  }
  return rest === "" ? `${start}: day out of range` : `${start}: extra text: ${goQuote(rest)}`;
}

/** Base64 in its URL alphabet, which is what Kubernetes decodes here, line breaks left out. */
function parseBytes(text: string): Uint8Array | CelError {
  const at = wrongByte(Buffer.from(text).toString("latin1"));
  if (at === undefined) return Buffer.from(text.replace(/[\r\n]/g, ""), "base64url");
  return new CelError(`Invalid byte formatted string ${text}: illegal base64 data at input byte ${at}`);
}

/** The byte that Go's decoder refuses; undefined if all is base64. */
function wrongByte(source: string): number | undefined {
  const [body = ""] = /^[A-Za-z0-9_\-\r\n]*/.exec(source) ?? [];
  const digits = body.replace(/[\r\n]/g, "").length % 4;
  const rest = source.slice(body.length);
  if (rest === "") return digits === 0 ? undefined : source.length - digits;
  if (digits < 2 || !rest.startsWith("=")) return body.length;
  const [padding] = (digits === 2 ? /^=[\r\n]*=[\r\n]*/ : /^=[\r\n]*/).exec(rest) ?? [];
  if (padding !== undefined) return padding === rest ? undefined : body.length + padding.length;
  const next = body.length + (/^=[\r\n]*/.exec(rest)?.[0].length ?? 0);
  return next === source.length ? next : next - 1;
}
