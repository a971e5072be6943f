// SPDX-License-Identifier: Apache-2.0
// What a Kubernetes object is to this package: plain JSON data, possibly frozen, never mutated here.

/** Any JSON value. Integers beyond ±2^53 are bigint so that int64 survives; every other number is a number. */
export type JsonValue = null | boolean | number | bigint | string | JsonArray | JsonObject;

/** A JSON array. It is read-only. */
export type JsonArray = readonly JsonValue[];

/** A JSON object. It is read-only. Read keys that users choose with {@link ownValue}. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** Whether the value is a JSON object (not null, not an array). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the value is a JSON array. */
export function isJsonArray(value: unknown): value is JsonArray {
  return Array.isArray(value);
}
