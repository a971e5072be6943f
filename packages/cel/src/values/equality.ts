// SPDX-License-Identifier: Apache-2.0
import { type CelError, isError, noSuchOverload } from "./cel-error.ts";
import { compareNumbers, isNumber } from "./compare.ts";
import { Duration } from "./duration.ts";
import { ListValue } from "./list.ts";
import { MapValue } from "./map.ts";
import type { Meter } from "./meter.ts";
import { OpaqueValue } from "./opaque.ts";
import { OptionalValue } from "./optional.ts";
import { Timestamp } from "./timestamp.ts";
import { TypeValue } from "./type-value.ts";
import type { Value } from "./value.ts";

/** `a == b`. Numbers of different types are equal when they stand for the same number. */
export function equalValues(a: Value, b: Value, meter: Meter): boolean | CelError {
  return b === null ? a === null : equalParts(a, b, meter);
}

/** The same for parts of an object, where null is not an exception: a list compared with null is an error. */
export function equalParts(a: Value, b: Value, meter: Meter): boolean | CelError {
  if (a === null) return b === null;
  if (typeof a !== "object") {
    if (typeof a === "number" || typeof a === "bigint") return isNumber(b) && compareNumbers(a, b) === 0;
    if (typeof a === "string" && typeof b === "string") return equalText(a, b, meter);
    return a === b;
  }
  return equalObjects(a, b, meter);
}

function equalText(a: string, b: string, meter: Meter): boolean {
  if (a.length !== b.length) return false;
  meter.characters(a.length);
  return a === b;
}

function equalObjects(a: Exclude<Value, null> & object, b: Value, meter: Meter): boolean | CelError {
  if (isError(a)) return a;
  if (a instanceof ListValue || a instanceof MapValue) return a.equals(b, equalValues, meter);
  if (isNumber(a)) return isNumber(b) && compareNumbers(a, b) === 0;
  if (a instanceof Uint8Array) {
    meter.characters(a.length);
    return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  }
  if (a instanceof Timestamp) return b instanceof Timestamp && a.seconds === b.seconds && a.nanos === b.nanos;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  if (a instanceof OptionalValue) return equalOptionals(a, b, meter);
  return a instanceof OpaqueValue ? a.equals(b, meter) : noSuchOverload;
}

function equalOptionals(a: OptionalValue, b: Value, meter: Meter): boolean | CelError {
  if (!(b instanceof OptionalValue) || a.hasValue !== b.hasValue) return false;
  return !a.hasValue || equalValues(a.value, b.value, meter);
}
