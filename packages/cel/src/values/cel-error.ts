// SPDX-License-Identifier: Apache-2.0

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
