// SPDX-License-Identifier: Apache-2.0
import { isRawBacked } from "./schema/to-raw.ts";
import { isError } from "./values/cel-error.ts";
import { durationSeconds } from "./values/convert.ts";
import { Duration } from "./values/duration.ts";
import { formatPlain } from "./values/format-double.ts";
import { Uint } from "./values/integers.ts";
import { elementsOf, ListValue } from "./values/list.ts";
import { MapValue } from "./values/map.ts";
import { OptionalValue } from "./values/optional.ts";
import { formatTimestamp, Timestamp } from "./values/timestamp.ts";
import { TypeValue } from "./values/type-value.ts";
import type { Value } from "./values/value.ts";

/**
 * A value as plain data: lists are arrays, maps objects, integers bigints, times and durations strings, bytes base64. An
 * optional is what it holds, or undefined.
 */
export function toJson(value: Value): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isRawBacked(value)) return value.raw;
  if (value instanceof Uint) return value.value;
  if (value instanceof ListValue) return [...elementsOf(value)].map(toJson);
  if (value instanceof MapValue) return mapToJson(value);
  if (value instanceof OptionalValue) return value.hasValue ? toJson(value.value) : undefined;
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return `${formatPlain(durationSeconds(value))}s`;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof TypeValue) return value.name;
  return isError(value) ? value.message : value.toString();
}

function mapToJson(map: MapValue): unknown {
  const entries: [string, unknown][] = [];
  for (const key of map.keys()) entries.push([String(toJson(key)), toJson(map.find(key) ?? null)]);
  return Object.fromEntries(entries);
}
