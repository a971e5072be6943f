// SPDX-License-Identifier: Apache-2.0
import { CelError } from "./value.ts";

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
