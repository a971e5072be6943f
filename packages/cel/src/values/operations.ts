// SPDX-License-Identifier: Apache-2.0

import { compareUtf8 } from "@purlin/base";
import { ListValue, MapValue } from "./collections.ts";
import { addDuration, Duration, durationOf, subtractTimestamps, Timestamp } from "./time-values.ts";
import {
  CelError,
  checkedInt,
  checkedUint,
  divideInt,
  divideUint,
  isError,
  type Meter,
  moduloInt,
  moduloUint,
  noSuchOverload,
  OpaqueValue,
  OptionalValue,
  TypeValue,
  Uint,
  type Value,
} from "./value.ts";

export type Order = -1 | 0 | 1;

const notOrdered = new CelError("NaN values cannot be ordered");

function isNumber(value: Value): value is bigint | number | Uint {
  return typeof value === "bigint" || typeof value === "number" || value instanceof Uint;
}

/** Whether values of this kind have an order at all. */
export function isOrdered(value: Value): boolean {
  return (
    isNumber(value) ||
    typeof value === "string" ||
    typeof value === "boolean" ||
    value instanceof Uint8Array ||
    value instanceof Timestamp ||
    value instanceof Duration
  );
}

/** The order of two values of the same kind; numbers of all types are of one kind. */
export function compareValues(a: Value, b: Value): Order | CelError {
  if (isError(b)) return b;
  if (isNumber(a)) return isNumber(b) ? (compareNumbers(a, b) ?? notOrdered) : unordered(a);
  if (typeof a === "string") return typeof b === "string" ? compareUtf8(a, b) : noSuchOverload;
  if (typeof a === "boolean") return typeof b === "boolean" ? order(Number(a), Number(b)) : noSuchOverload;
  if (a instanceof Timestamp && b instanceof Timestamp) return order(a.seconds, b.seconds) || order(a.nanos, b.nanos);
  if (a instanceof Duration && b instanceof Duration) return order(a.nanos, b.nanos);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  return noSuchOverload;
}

// NaN is found out before the other side's type is looked at.
function unordered(a: Value): CelError {
  return Number.isNaN(a) ? notOrdered : noSuchOverload;
}

/** The order of two numbers as CEL sees it: doubles meet integers as doubles. Undefined when one is NaN. */
function compareNumbers(a: bigint | number | Uint, b: bigint | number | Uint): Order | undefined {
  const left = a instanceof Uint ? a.value : a;
  const right = b instanceof Uint ? b.value : b;
  if (Number.isNaN(left) || Number.isNaN(right)) return undefined;
  if (typeof left === typeof right) return order(left, right);
  return order(Number(left), Number(right));
}

function order<T extends number | bigint>(a: T, b: T): Order {
  if (a < b) return -1;
  return a > b ? 1 : 0;
}

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

/** What each operator works on; undefined when the left side knows no such operator. */
export type Arithmetic = (a: Value, b: Value, meter: Meter) => Value | undefined;

export const add: Arithmetic = (a, b, meter) => {
  if (typeof a === "bigint") return typeof b === "bigint" ? checkedInt(a + b) : noSuchOverload;
  if (typeof a === "number") return typeof b === "number" ? a + b : noSuchOverload;
  if (typeof a === "string") return typeof b === "string" ? joinText(a, b, meter) : noSuchOverload;
  if (a instanceof ListValue) return b instanceof ListValue ? a.concat(b, meter) : noSuchOverload;
  if (a instanceof Uint) return b instanceof Uint ? checkedUint(a.value + b.value) : noSuchOverload;
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? Buffer.concat([a, b]) : noSuchOverload;
  if (a instanceof Duration) {
    if (b instanceof Timestamp) return addDuration(b, a);
    return b instanceof Duration ? durationOf(a.nanos + b.nanos) : noSuchOverload;
  }
  if (a instanceof Timestamp) return b instanceof Duration ? addDuration(a, b) : noSuchOverload;
  return undefined;
};

function joinText(a: string, b: string, meter: Meter): string {
  meter.characters(a.length + b.length);
  return a + b;
}

export const subtract: Arithmetic = (a, b) => {
  if (typeof a === "bigint") return typeof b === "bigint" ? checkedInt(a - b) : noSuchOverload;
  if (typeof a === "number") return typeof b === "number" ? a - b : noSuchOverload;
  if (a instanceof Uint) return b instanceof Uint ? checkedUint(a.value - b.value) : noSuchOverload;
  if (a instanceof Duration) return b instanceof Duration ? durationOf(a.nanos - b.nanos) : noSuchOverload;
  if (!(a instanceof Timestamp)) return undefined;
  if (b instanceof Timestamp) return subtractTimestamps(a, b);
  if (!(b instanceof Duration)) return noSuchOverload;
  const opposite = durationOf(-b.nanos);
  return opposite instanceof Duration ? addDuration(a, opposite) : opposite;
};

export const multiply: Arithmetic = (a, b) => {
  if (typeof a === "bigint") return typeof b === "bigint" ? checkedInt(a * b) : noSuchOverload;
  if (typeof a === "number") return typeof b === "number" ? a * b : noSuchOverload;
  if (a instanceof Uint) return b instanceof Uint ? checkedUint(a.value * b.value) : noSuchOverload;
  return undefined;
};

export const divide: Arithmetic = (a, b) => {
  if (typeof a === "bigint") return typeof b === "bigint" ? divideInt(a, b) : noSuchOverload;
  if (typeof a === "number") return typeof b === "number" ? a / b : noSuchOverload;
  if (a instanceof Uint) return b instanceof Uint ? divideUint(a.value, b.value) : noSuchOverload;
  return undefined;
};

export const modulo: Arithmetic = (a, b) => {
  if (typeof a === "bigint") return typeof b === "bigint" ? moduloInt(a, b) : noSuchOverload;
  if (a instanceof Uint) return b instanceof Uint ? moduloUint(a.value, b.value) : noSuchOverload;
  return undefined;
};

/** `-a`; undefined when the value knows no negation. */
export function negate(a: Value): Value | undefined {
  if (typeof a === "bigint") return checkedInt(-a);
  if (typeof a === "number") return -a;
  if (typeof a === "boolean") return noSuchOverload;
  return a instanceof Duration ? durationOf(-a.nanos) : undefined;
}
