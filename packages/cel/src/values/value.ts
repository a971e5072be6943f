// SPDX-License-Identifier: Apache-2.0

import type { ListValue, MapValue } from "./collections.ts";
import type { Uint } from "./integers.ts";
import type { Meter } from "./meter.ts";
import type { Duration, Timestamp } from "./time-values.ts";

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
export class InternalFailure extends Error {
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
