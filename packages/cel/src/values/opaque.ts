// SPDX-License-Identifier: Apache-2.0
import type { CelError } from "./cel-error.ts";
import type { Meter } from "./meter.ts";
import type { Value } from "./value.ts";

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
