// SPDX-License-Identifier: Apache-2.0
// Users choose the keys of labels, data and free-form maps, so a key may be "__proto__" or "constructor". Reading through
// these helpers never sees what Object.prototype offers, and writing never changes a prototype.
import type { JsonObject, JsonValue } from "./json-value.ts";

/** The object's own value under `key`, or undefined. */
export function ownValue(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets an own property of an object under construction, whatever the key is. */
export function setOwnValue(object: Record<string, JsonValue>, key: string, value: JsonValue): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
    return;
  }
  object[key] = value;
}

/** A copy of `object` in which `key` is `value`. */
export function withOwnValue(object: JsonObject, key: string, value: JsonValue): JsonObject {
  const copy: Record<string, JsonValue> = { ...object };
  setOwnValue(copy, key, value);
  return copy;
}

/** A copy of `object` without `key`; the object itself when it has no such key. */
export function withoutOwnValue(object: JsonObject, key: string): JsonObject {
  if (!Object.hasOwn(object, key)) return object;
  const copy: Record<string, JsonValue> = { ...object };
  delete copy[key];
  return copy;
}
