// SPDX-License-Identifier: Apache-2.0
import { Duration } from "./duration.ts";
import { formatDouble } from "./format-double.ts";
import { Uint } from "./integers.ts";
import { elementsOf, ListValue } from "./list.ts";
import { MapValue } from "./map.ts";
import { OpaqueValue } from "./opaque.ts";
import { OptionalValue } from "./optional.ts";
import { formatTimestamp, Timestamp } from "./timestamp.ts";
import { TypeValue } from "./type-value.ts";
import type { Value } from "./value.ts";

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
