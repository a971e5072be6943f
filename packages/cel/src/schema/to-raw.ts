// SPDX-License-Identifier: Apache-2.0
import { elementsOf, ListValue } from "../values/list.ts";
import { OptionalValue } from "../values/optional.ts";
import type { Value } from "../values/value.ts";

/** Values that are data from an object and can give it back as it was. */
export interface RawBacked {
  readonly raw: unknown;
}

export function isRawBacked(value: unknown): value is RawBacked {
  return typeof value === "object" && value !== null && "raw" in value;
}

/** The data behind a value. Values that JSON has no form for, such as timestamps, stay what they are. */
export function toRaw(value: Value): unknown {
  if (isRawBacked(value)) return value.raw;
  if (value instanceof OptionalValue) return value.hasValue ? toRaw(value.value) : null;
  return value instanceof ListValue ? [...elementsOf(value)].map(toRaw) : value;
}
