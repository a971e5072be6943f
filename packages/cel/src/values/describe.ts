// SPDX-License-Identifier: Apache-2.0

import { elementsOf, LazyMap, ListValue, MapValue } from "./collections.ts";
import { Duration, formatTimestamp, Timestamp } from "./time-values.ts";
import { CelError, OpaqueValue, OptionalValue, TypeValue, Uint, type Value } from "./value.ts";

/** Most characters of a list or map that are shown, roughly: one that was added to itself over and over has more than there is memory. */
const mostShown = 16 * 1024;

/** How many characters can still be shown. */
interface Room {
  left: number;
}

/** A value as error messages show it. Of a large list or map the rest is left out. */
export function describe(value: Value): string {
  return described(value, { left: mostShown });
}

function described(value: Value, room: Room): string {
  if (value === null) return "NULL_VALUE";
  switch (typeof value) {
    case "number":
      return formatDouble(value);
    case "object":
      return describeObject(value, room);
    default:
      return String(value);
  }
}

function describeObject(value: Exclude<Value, null> & object, room: Room): string {
  if (value instanceof Uint) return String(value.value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Uint8Array) return `[${shownBytes(value, room)}]`;
  if (value instanceof OptionalValue) {
    return value.hasValue ? `optional(${described(value.value, room)})` : "optional.none()";
  }
  if (value instanceof ListValue) return `[${shown(elementsOf(value), room, (element) => described(element, room))}]`;
  // Not its values: an error text needs no evaluations.
  if (value instanceof LazyMap) return value.typeName;
  if (value instanceof MapValue) {
    const entry = (key: Value): string => `${described(key, room)}: ${described(value.find(key) ?? null, room)}`;
    return `{${shown(value.keys(), room, entry)}}`;
  }
  return value instanceof OpaqueValue ? value.toString() : value.message;
}

/** Bytes as Go prints them, as far as there is room. */
function shownBytes(bytes: Uint8Array, room: Room): string {
  const most = Math.max(0, Math.floor(room.left / 4));
  const shownOnes = [...bytes.subarray(0, most)].join(" ");
  return bytes.length > most ? `${shownOnes} ...` : shownOnes;
}

/** The texts of elements or entries, as far as there is room. */
function shown(values: Iterable<Value>, room: Room, textOf: (value: Value) => string): string {
  const texts: string[] = [];
  for (const value of values) {
    if (room.left <= 0) {
      texts.push("...");
      break;
    }
    room.left -= 1;
    const text = textOf(value);
    room.left -= text.length;
    texts.push(text);
  }
  return texts.join(", ");
}

/** A duration in hours, minutes and seconds, as Go prints it: 1h30m0s, 1.5s, 20ms. */
function formatDuration({ nanos }: Duration): string {
  if (nanos === 0n) return "0s";
  const sign = nanos < 0n ? "-" : "";
  const size = nanos < 0n ? -nanos : nanos;
  if (size < 1000n) return `${sign}${size}ns`;
  if (size < 1_000_000n) return `${sign}${scaled(size, 1000n)}\u00b5s`;
  if (size < 1_000_000_000n) return `${sign}${scaled(size, 1_000_000n)}ms`;
  const seconds = scaled(size % 60_000_000_000n, 1_000_000_000n);
  const minutes = size / 60_000_000_000n;
  if (minutes === 0n) return `${sign}${seconds}s`;
  const hours = minutes / 60n;
  return `${sign}${hours === 0n ? "" : `${hours}h`}${minutes % 60n}m${seconds}s`;
}

function scaled(amount: bigint, unit: bigint): string {
  const fraction = String(amount % unit)
    .padStart(String(unit).length - 1, "0")
    .replace(/0+$/, "");
  return fraction === "" ? String(amount / unit) : `${amount / unit}.${fraction}`;
}

interface Digits {
  /** Without leading or trailing zeros. */
  readonly digits: string;
  /** The decimal exponent of the first digit. */
  readonly exponent: number;
}

/** The fewest digits that read back as the same number. */
function shortestDigits(value: number): Digits {
  const [mantissa = "0", exponent = "0"] = Math.abs(value).toExponential().split("e");
  return { digits: mantissa.replace(".", ""), exponent: Number(exponent) };
}

/** A double as Go's `%g` and `%v` print it, which is also what `string(x)` gives: 1.5, 1e+06, 1e-05, +Inf. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  if (value === 0) return `${sign}0`;
  const { digits, exponent } = shortestDigits(value);
  const isPlain = exponent >= -4 && exponent < 6;
  return sign + (isPlain ? plainDigits(digits, exponent) : exponentDigits(digits, exponent));
}

/** A double without exponent and with no more digits than it needs. */
export function formatPlain(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  if (value === 0) return `${sign}0`;
  const { digits, exponent } = shortestDigits(value);
  return sign + plainDigits(digits, exponent);
}

function plainDigits(digits: string, exponent: number): string {
  if (exponent < 0) return `0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  const fraction = digits.slice(exponent + 1);
  return fraction === "" ? whole : `${whole}.${fraction}`;
}

function exponentDigits(digits: string, exponent: number): string {
  const fraction = digits.slice(1);
  const mantissa = fraction === "" ? digits : `${digits[0]}.${fraction}`;
  const size = String(Math.abs(exponent)).padStart(2, "0");
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${size}`;
}

/** An object that an expression constructed, such as `Object.spec{replicas: 1}`. */
export class ConstructedValue extends MapValue {
  readonly typeName: string;
  readonly #fields: ReadonlyMap<string, Value>;

  constructor(typeName: string, fields: ReadonlyMap<string, Value>) {
    super();
    this.typeName = typeName;
    this.#fields = fields;
  }

  get size(): number {
    return this.#fields.size;
  }

  find(key: Value): Value | undefined {
    return typeof key === "string" ? this.#fields.get(key) : undefined;
  }

  keys(): Iterable<Value> {
    return this.#fields.keys();
  }
}

/** The name of a value's type. */
export function typeNameOf(value: Value): string {
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "double";
    case "string":
      return "string";
    default:
      return objectTypeName(value);
  }
}

function objectTypeName(value: Exclude<Value, boolean | bigint | number | string>): string {
  if (value === null) return "null_type";
  if (value instanceof ListValue) return "list";
  if (value instanceof ConstructedValue) return value.typeName;
  if (value instanceof MapValue) return "map";
  if (value instanceof Uint) return "uint";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof OptionalValue) return "optional_type";
  if (value instanceof Timestamp) return "google.protobuf.Timestamp";
  if (value instanceof Duration) return "google.protobuf.Duration";
  if (value instanceof TypeValue) return "type";
  if (value instanceof OpaqueValue) return value.typeName;
  return value instanceof CelError ? "error" : "unknown";
}
