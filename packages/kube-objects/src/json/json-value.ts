// SPDX-License-Identifier: Apache-2.0
import { compareUtf8, isPartDone, type Work } from "@purlin/base";

// What a Kubernetes object is to this package: plain JSON data, possibly frozen, never mutated here.
// Users choose the keys of labels, data and free-form maps, so a key may be "__proto__" or "constructor". Reading through
// these helpers never sees what Object.prototype offers, and writing never changes a prototype.

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

/** Whether the value is a number. An integer beyond ±2^53 is one: compare it with another by `<` and `>`, do not add them. */
export function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/** What Go's decoder calls a value it cannot use. */
export function jsonKind(value: JsonValue): string {
  if (value === null) return "null";
  if (isJsonArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value === "bigint" ? "number" : typeof value;
}

/** Deep equality of JSON values. Numbers compare by value, as the reference server compares int64 with float64. */
export function jsonEqual(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (typeof a === "object" && typeof b === "object") return compositesEqual(a, b);
  if (typeof a === "bigint" && typeof b === "number") return Number(a) === b;
  if (typeof a === "number" && typeof b === "bigint") return a === Number(b);
  return false;
}

function compositesEqual(a: JsonArray | JsonObject | null, b: JsonArray | JsonObject | null): boolean {
  if (a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && arraysEqual(a, b);
  return isJsonObject(a) && isJsonObject(b) && objectsEqual(a, b);
}

function arraysEqual(a: JsonArray, b: JsonArray): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    if (!jsonEqual(a[i] as JsonValue, b[i] as JsonValue)) return false;
  }
  return true;
}

function objectsEqual(a: JsonObject, b: JsonObject): boolean {
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  if (keys.length !== others.length) return false;
  // In the same order, which is usual, no member has to be looked up by its name. V8 lists the values of large objects slowly.
  if (keys.length < 256 && keys.every((key, index) => key === others[index]))
    return arraysEqual(Object.values(a), Object.values(b));
  for (const key of keys) {
    if (!Object.hasOwn(b, key) || !jsonEqual(a[key] as JsonValue, b[key] as JsonValue)) return false;
  }
  return true;
}

/** Whether a JSON value is an object or a list. */
export function isContainer<T>(value: T): value is T & object {
  return typeof value === "object" && value !== null;
}

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

// Kubernetes orders and measures strings as UTF-8 bytes; JavaScript does so by UTF-16 code units.

export { compareUtf8 };

/** The keys of an object in UTF-8 order. */
export function sortedKeys(object: object): string[] {
  return Object.keys(object).sort(compareUtf8);
}

/** How many bytes the string takes in UTF-8. */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

/** Says that a member goes. */
export const removed: unique symbol = Symbol("removed");

/** A member after a change, or {@link removed}. */
export type Mapped = JsonValue | typeof removed;

/** Applies `change` to each member; gives the object itself back when nothing changed. */
export function mapMembers(object: JsonObject, change: (value: JsonValue, key: string) => Mapped): JsonObject {
  let copy: Record<string, JsonValue> | undefined;
  // Not by entries: of an object with very many members, that takes twice as long.
  for (const key of Object.keys(object)) {
    const value = object[key] as JsonValue;
    const mapped = change(value, key);
    if (mapped !== value) copy ??= copyBefore(object, key);
    // Members are left out rather than deleted, which takes long where there are many.
    if (copy !== undefined && mapped !== removed) setOwnValue(copy, key, mapped);
  }
  return copy ?? object;
}

/** A copy of the members before one. */
function copyBefore(object: JsonObject, end: string): Record<string, JsonValue> {
  const copy: Record<string, JsonValue> = {};
  for (const key of Object.keys(object)) {
    if (key === end) break;
    setOwnValue(copy, key, object[key] as JsonValue);
  }
  return copy;
}

/** Applies `change` to each item; gives the array itself back when nothing changed. */
export function mapItems(
  items: readonly JsonValue[],
  change: (value: JsonValue, index: number) => JsonValue,
): readonly JsonValue[] {
  let copy: JsonValue[] | undefined;
  for (let index = 0; index < items.length; index++) {
    const value = items[index] as JsonValue;
    const mapped = change(value, index);
    if (mapped === value) continue;
    copy ??= [...items];
    copy[index] = mapped;
  }
  return copy ?? items;
}

/** A copy that can be changed, also of an object with a member called `__proto__`. */
export function copyOf(object: JsonObject): Record<string, JsonValue> {
  const copy: Record<string, JsonValue> = {};
  for (const key of Object.keys(object)) setOwnValue(copy, key, object[key] as JsonValue);
  return copy;
}

/** {@link copyOf} in parts. A spread of an object with very many members takes longer, and all at once. */
export function* copying(object: JsonObject): Work<Record<string, JsonValue>> {
  const copy: Record<string, JsonValue> = {};
  for (const key of Object.keys(object)) {
    if (isPartDone()) yield;
    setOwnValue(copy, key, object[key] as JsonValue);
  }
  return copy;
}
