// SPDX-License-Identifier: Apache-2.0
import { noSuchOverload } from "./cel-error.ts";
import { Duration, durationOf } from "./duration.ts";
import { checkedInt, checkedUint, divideInt, divideUint, moduloInt, moduloUint, Uint } from "./integers.ts";
import { ListValue } from "./list.ts";
import type { Meter } from "./meter.ts";
import { addDuration, subtractTimestamps, Timestamp } from "./timestamp.ts";
import type { Value } from "./value.ts";

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
