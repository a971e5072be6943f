// SPDX-License-Identifier: Apache-2.0

import { formatDouble, formatPlain, typeNameOf } from "./describe.ts";
import { Duration, formatTimestamp, parseDuration, parseTimestamp, Timestamp, timestampOf } from "./time-values.ts";
import {
  CelError,
  checkedInt,
  checkedUint,
  doubleToInt,
  doubleToUint,
  isError,
  maxInt,
  maxUint,
  minInt,
  TypeValue,
  Uint,
  type Value,
} from "./value.ts";

// No two parts of these patterns match the same digits next to each other: texts of a megabyte are refused in one pass.
const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

const hexadecimal = /^([+-]?)0x([0-9a-f]*)(?:\.([0-9a-f]*))?p([+-]?\d{1,6})$/i;

const infinity = /^([+-]?)inf(?:inity)?$/i;

// Lists and maps are named here with the types of what they hold.
const longNames: ReadonlyMap<string, string> = new Map([
  ["list", "list(dyn)"],
  ["map", "map(dyn, dyn)"],
]);

function cannotConvert(value: Value, target: string): CelError {
  if (isError(value)) return value;
  const name = typeNameOf(value);
  return new CelError(`type conversion error from '${longNames.get(name) ?? name}' to '${target}'`);
}

export function toInt(value: Value): Value {
  if (typeof value === "bigint") return value;
  if (typeof value === "number") return doubleToInt(value);
  if (value instanceof Uint) return checkedInt(value.value);
  if (value instanceof Duration) return value.nanos;
  if (value instanceof Timestamp) return BigInt(value.seconds);
  const parsed = typeof value === "string" ? parseInteger(value) : undefined;
  if (parsed !== undefined && parsed >= minInt && parsed <= maxInt) return parsed;
  return cannotConvert(value, "int");
}

/** A decimal integer of at most 20 digits; a longer one fits no type, and reading it could take long. */
function parseInteger(text: string): bigint | undefined {
  const [, sign, all] = /^([+-]?)(\d+)$/.exec(text) ?? [];
  const digits = all?.replace(/^0+(?=\d)/, "");
  if (digits === undefined || digits.length > 20) return undefined;
  return sign === "-" ? -BigInt(digits) : BigInt(digits);
}

export function toUint(value: Value): Value {
  if (value instanceof Uint) return value;
  if (typeof value === "bigint") return checkedUint(value);
  if (typeof value === "number") return doubleToUint(value);
  const parsed = typeof value === "string" && /^\d/.test(value) ? parseInteger(value) : undefined;
  if (parsed !== undefined && parsed <= maxUint) return new Uint(parsed);
  return cannotConvert(value, "uint");
}

export function toDouble(value: Value): Value {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (value instanceof Uint) return Number(value.value);
  const parsed = typeof value === "string" ? parseDouble(value) : undefined;
  return parsed ?? cannotConvert(value, "double");
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
]);

export function toBool(value: Value): Value {
  if (typeof value === "boolean") return value;
  const parsed = typeof value === "string" ? booleans.get(value) : undefined;
  return parsed ?? cannotConvert(value, "bool");
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function toText(value: Value): Value {
  switch (typeof value) {
    case "string":
      return value;
    case "bigint":
    case "boolean":
      return String(value);
    case "number":
      return formatDouble(value);
    default:
      return objectToText(value);
  }
}

function objectToText(value: Exclude<Value, string | bigint | boolean | number>): Value {
  if (value === null) return "null";
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Duration) return `${formatPlain(durationSeconds(value))}s`;
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof TypeValue) return value.name;
  if (!(value instanceof Uint8Array)) return cannotConvert(value, "string");
  try {
    return strictUtf8.decode(value);
  } catch {
    return new CelError("invalid UTF-8 in bytes, cannot convert to string");
  }
}

/** Seconds as a double, computed as Go does: whole seconds and rest apart, to lose the least. */
export function durationSeconds({ nanos }: Duration): number {
  return Number(nanos / 1_000_000_000n) + Number(nanos % 1_000_000_000n) / 1e9;
}

export function toBytes(value: Value): Value {
  if (value instanceof Uint8Array) return value;
  return typeof value === "string" ? Buffer.from(value, "utf8") : cannotConvert(value, "bytes");
}

export function toDuration(value: Value): Value {
  if (value instanceof Duration) return value;
  const parsed = typeof value === "string" ? parseDuration(value) : undefined;
  return parsed ?? cannotConvert(value, "google.protobuf.Duration");
}

export function toTimestamp(value: Value): Value {
  if (value instanceof Timestamp) return value;
  if (typeof value === "bigint") return timestampOf(value);
  const parsed = typeof value === "string" ? parseTimestamp(value) : undefined;
  if (!parsed) return cannotConvert(value, "google.protobuf.Timestamp");
  return timestampOf(parsed.seconds, parsed.nanos, parsed.offset);
}

export function toType(value: Value): Value {
  return isError(value) ? value : new TypeValue(typeNameOf(value));
}

/** Reads a floating-point number as Go does; undefined when the number is too large. */
function parseDouble(text: string): number | undefined {
  if (/^nan$/i.test(text)) return Number.NaN;
  const sign = infinity.exec(text)?.[1];
  if (sign !== undefined) return sign === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const plain = withoutUnderscores(text);
  if (plain === undefined) return undefined;
  const value = decimal.test(plain) ? Number(plain) : parseHexadecimal(plain);
  return value !== undefined && Number.isFinite(value) ? value : undefined;
}

/** Underscores may stand between digits, and after the base prefix. */
function withoutUnderscores(text: string): string | undefined {
  if (!text.includes("_")) return text;
  const isHex = /^[+-]?0x/i.test(text);
  const misplaced = isHex ? /(?<![0-9a-fx])_|_(?![0-9a-f])/i : /(?<!\d)_|_(?!\d)/;
  return misplaced.test(text) ? undefined : text.replaceAll("_", "");
}

function parseHexadecimal(text: string): number | undefined {
  const [, sign, whole = "", fraction = "", exponent] = hexadecimal.exec(text) ?? [];
  const digits = whole + fraction;
  if (exponent === undefined || digits === "" || digits.length > 256) return undefined;
  const value = Number(BigInt(`0x${digits}`)) * 2 ** (Number(exponent) - 4 * fraction.length);
  return sign === "-" ? -value : value;
}
