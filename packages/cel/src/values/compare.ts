// SPDX-License-Identifier: Apache-2.0
import { CelError, isError, noSuchOverload } from "./cel-error.ts";
import { Duration } from "./duration.ts";
import { Uint } from "./integers.ts";
import { compareText } from "./text.ts";
import { Timestamp } from "./timestamp.ts";
import type { Value } from "./value.ts";

export type Order = -1 | 0 | 1;

const notOrdered = new CelError("NaN values cannot be ordered");

export function isNumber(value: Value): value is bigint | number | Uint {
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
  if (typeof a === "string") return typeof b === "string" ? compareText(a, b) : noSuchOverload;
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
export function compareNumbers(a: bigint | number | Uint, b: bigint | number | Uint): Order | undefined {
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
