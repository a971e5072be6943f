// SPDX-License-Identifier: Apache-2.0
// Values of expressions, and the meter of the work that is done on them.
import type { ListValue, MapValue } from "./collections.ts";
import type { Duration, Timestamp } from "./time-values.ts";

/**
 * Counts the work of an evaluation beside CEL's cost. CEL charges some operations by the size of their outermost value
 * only, or not at all, so a small cost can hide much work (comparing lists of large maps, counting the characters of a
 * large string over and over). The meter ends such an evaluation as an exceeded cost limit would. A unit is about ten
 * nanoseconds.
 */
export class Meter {
  #left: number;

  constructor(limit: number) {
    this.#left = limit;
  }

  /** What can still be spent; negative once it was too much. */
  get left(): number {
    return this.#left;
  }

  spend(units: number): void {
    this.#left -= units;
    if (this.#left < 0) throw new CostExceededError();
  }

  /** Accounts for elements of lists and entries of maps that are read, compared or copied. */
  elements(count: number): void {
    this.spend(count * 4);
  }

  /** Accounts for characters that are looked at or copied. */
  characters(count: number): void {
    this.spend(count / 16);
  }
}

/** Ends an evaluation whose cost limit is reached. Thrown, because no operator may absorb it. */
export class CostExceededError extends Error {
  constructor() {
    super("operation cancelled: actual cost limit exceeded");
  }
}

/**
 * A failed evaluation. In CEL errors are values: `&&` and `||` absorb them when the other side decides, and everything
 * else hands them on, so they are returned and not thrown.
 */
export class CelError {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** The arguments of a call fit no signature. */
export const noSuchOverload: CelError = new CelError("no such overload");

export function isError(value: unknown): value is CelError {
  return value instanceof CelError;
}

/**
 * Ends an evaluation at a place where Kubernetes' own evaluator fails, for example because it cannot put bytes into a
 * set. Thrown, because no operator may absorb it.
 */
export class EvaluationError extends Error {
  constructor(message: string) {
    super(`internal error: ${message}`);
  }
}

const dereference = new CelError("optional.none() dereference");

/** A value that may be absent. */
export class OptionalValue {
  readonly #value: Value | undefined;

  constructor(value?: Value) {
    this.#value = value;
  }

  get hasValue(): boolean {
    return this.#value !== undefined;
  }

  /** The value, or an error when the optional is empty. */
  get value(): Value {
    return this.#value === undefined ? dereference : this.#value;
  }
}

export const none: OptionalValue = new OptionalValue();

/**
 * A value during evaluation: bigint is an int, number a double, Uint8Array bytes. An error is a value too, so every
 * step checks for it.
 */
export type Value =
  | boolean
  | bigint
  | number
  | string
  | null
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | ListValue
  | MapValue
  | OptionalValue
  | OpaqueValue
  | TypeValue
  | CelError;

/** A type as a value: what `type(x)` gives. */
export class TypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A value of a library's own type, such as an IP address. */
export abstract class OpaqueValue {
  abstract readonly typeName: string;
  abstract equals(other: Value, meter: Meter): boolean | CelError;
  /** How the value is printed inside an error message. */
  abstract toString(): string;

  /** What `size` is for the cost of a call, for types that have one. */
  get costSize(): number | undefined {
    return undefined;
  }
}

export const minInt: bigint = -(2n ** 63n);
export const maxInt: bigint = 2n ** 63n - 1n;
export const maxUint: bigint = 2n ** 64n - 1n;

/** An unsigned 64-bit integer. Signed ones are plain bigints. */
export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

const intOverflow = new CelError("integer overflow");
const uintOverflow = new CelError("unsigned integer overflow");
const divisionByZero = new CelError("division by zero");
const modulusByZero = new CelError("modulus by zero");

export function checkedInt(value: bigint): bigint | CelError {
  return value < minInt || value > maxInt ? intOverflow : value;
}

export function checkedUint(value: bigint): Uint | CelError {
  return value < 0n || value > maxUint ? uintOverflow : new Uint(value);
}

export function divideInt(a: bigint, b: bigint): bigint | CelError {
  return b === 0n ? divisionByZero : checkedInt(a / b);
}

export function moduloInt(a: bigint, b: bigint): bigint | CelError {
  if (b === 0n) return modulusByZero;
  return a === minInt && b === -1n ? intOverflow : a % b;
}

export function divideUint(a: bigint, b: bigint): Uint | CelError {
  return b === 0n ? divisionByZero : new Uint(a / b);
}

export function moduloUint(a: bigint, b: bigint): Uint | CelError {
  return b === 0n ? modulusByZero : new Uint(a % b);
}

/** A double as an int, cut towards zero; an error when it does not fit. */
export function doubleToInt(value: number): bigint | CelError {
  if (!Number.isFinite(value) || value <= -(2 ** 63) || value >= 2 ** 63) return intOverflow;
  return BigInt(Math.trunc(value));
}

export function doubleToUint(value: number): Uint | CelError {
  if (!Number.isFinite(value) || value < 0 || value >= 2 ** 64) return uintOverflow;
  return new Uint(BigInt(Math.trunc(value)));
}
