// SPDX-License-Identifier: Apache-2.0
import { isRawBacked } from "../schema/to-raw.ts";
import { Duration } from "../values/duration.ts";
import { Uint } from "../values/integers.ts";
import { elementsOf, ListValue } from "../values/list.ts";
import { MapValue } from "../values/map.ts";
import { OptionalValue } from "../values/optional.ts";
import { Timestamp } from "../values/timestamp.ts";
import type { Value } from "../values/value.ts";

/** A value of an expression as JSON. */
export function toJson(value: Value): unknown {
  if (isRawBacked(value)) return value.raw;
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (value instanceof Uint) return Number(value.value);
  if (value instanceof OptionalValue) return value.hasValue ? toJson(value.value) : null;
  if (value instanceof ListValue) return [...elementsOf(value)].map(toJson);
  if (value instanceof MapValue) {
    return Object.fromEntries([...value.keys()].map((key) => [String(key), toJson(value.find(key) ?? null)]));
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof Timestamp || value instanceof Duration) return String(value);
  return value;
}
