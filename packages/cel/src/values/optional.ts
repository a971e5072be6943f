// SPDX-License-Identifier: Apache-2.0
import { CelError } from "./cel-error.ts";
import type { Value } from "./value.ts";

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
