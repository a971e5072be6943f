// SPDX-License-Identifier: Apache-2.0
import type { CelError } from "./cel-error.ts";
import type { Duration } from "./duration.ts";
import type { Uint } from "./integers.ts";
import type { ListValue } from "./list.ts";
import type { MapValue } from "./map.ts";
import type { OpaqueValue } from "./opaque.ts";
import type { OptionalValue } from "./optional.ts";
import type { Timestamp } from "./timestamp.ts";
import type { TypeValue } from "./type-value.ts";

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
