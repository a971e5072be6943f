// SPDX-License-Identifier: Apache-2.0

import { elementsOf, ListValue, MapValue } from "./collections.ts";
import { Duration, formatTimestamp, Timestamp } from "./time-values.ts";
import { CelError, OpaqueValue, OptionalValue, TypeValue, Uint, type Value } from "./value.ts";

/** A value as error messages show it. */
export function describe(value: Value): string {
  if (value === null) return "NULL_VALUE";
  switch (typeof value) {
    case "number":
      return formatDouble(value);
    case "object":
      return describeObject(value);
    default:
      return String(value);
  }
}

function describeObject(value: Exclude<Value, null> & object): string {
  if (value instanceof Uint) return String(value.value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Uint8Array) return `[${[...value].join(" ")}]`;
  if (value instanceof OptionalValue) return value.hasValue ? `optional(${describe(value.value)})` : "optional.none()";
  if (value instanceof ListValue) return `[${[...elementsOf(value)].map(describe).join(", ")}]`;
  if (value instanceof MapValue) {
    const entries = [...value.keys()].map((key) => `${describe(key)}: ${describe(value.find(key) ?? null)}`);
    return `{${entries.join(", ")}}`;
  }
  return value instanceof OpaqueValue ? value.toString() : value.message;
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
