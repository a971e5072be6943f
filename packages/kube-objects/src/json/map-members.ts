// SPDX-License-Identifier: Apache-2.0
import { isPartDone, type Work } from "@purlin/base";
import { type JsonObject, type JsonValue, setOwnValue } from "./json-value.ts";

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
