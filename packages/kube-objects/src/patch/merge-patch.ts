// SPDX-License-Identifier: Apache-2.0
// JSON merge patch (RFC 7386): null deletes, lists are replaced, objects merge.
import { finish, isPartDone, type Work } from "@purlin/base";
import {
  copying,
  isContainer,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  ownValue,
  setOwnValue,
} from "../json/json-value.ts";

/** The document with the patch merged in, the given one untouched; the document itself when nothing changes. */
export function applyMergePatch(document: JsonObject, patch: JsonObject): JsonObject {
  return finish(applyingMergePatch(document, patch));
}

/** {@link applyMergePatch} in parts. */
export function* applyingMergePatch(document: JsonObject, patch: JsonObject): Work<JsonObject> {
  const changes = new Map<string, JsonValue>();
  const removed = new Set<string>();
  for (const key of Object.keys(patch)) {
    if (isPartDone()) yield;
    const value = patch[key] ?? null;
    const current = ownValue(document, key);
    if (value === null) {
      if (current !== undefined) removed.add(key);
      continue;
    }
    const merged = isNew(current, value) ? value : yield* mergingValue(current ?? null, value);
    if (merged !== current) changes.set(key, merged);
  }
  if (changes.size === 0 && removed.size === 0) return document;
  const out = removed.size === 0 ? yield* copying(document) : yield* without(document, removed);
  for (const [key, value] of changes) {
    if (isPartDone()) yield;
    setOwnValue(out, key, value);
  }
  return out;
}

/** Whether a value is taken as it is: most are scalars that were not there or were others. */
const isNew = (current: JsonValue | undefined, value: JsonValue): boolean =>
  typeof value !== "object" && (current === undefined || current === null);

/** A copy without some members. To delete them one by one from a copy takes long where there are many. */
function* without(document: JsonObject, removed: ReadonlySet<string>): Work<Record<string, JsonValue>> {
  const out: Record<string, JsonValue> = {};
  for (const key of Object.keys(document)) {
    if (isPartDone()) yield;
    if (!removed.has(key)) setOwnValue(out, key, document[key] ?? null);
  }
  return out;
}

// What replaces an object is taken as it is; what replaces anything else loses its nulls first, as in the reference.
function* mergingValue(current: JsonValue, patch: JsonValue): Work<JsonValue> {
  if (!isJsonObject(current)) {
    const value = yield* removingNulls(patch);
    return jsonEqual(current, value) ? current : value;
  }
  return isJsonObject(patch) ? yield* applyingMergePatch(current, patch) : patch;
}

/** A value that is new: nulls mean "delete", so they have no place in it. Items of lists that are null stay. */
export function withoutNulls(value: JsonValue): JsonValue {
  return finish(removingNulls(value));
}

/** {@link withoutNulls} in parts. */
export function* removingNulls(value: JsonValue): Work<JsonValue> {
  if (Array.isArray(value)) {
    const items: JsonValue[] = [];
    for (const item of value as readonly JsonValue[]) {
      if (isPartDone()) yield;
      items.push(isContainer(item) ? yield* removingNulls(item) : item);
    }
    return items;
  }
  if (!isJsonObject(value)) return value;
  const out: Record<string, JsonValue> = {};
  for (const key of Object.keys(value)) {
    if (isPartDone()) yield;
    const child = value[key] ?? null;
    if (child !== null) setOwnValue(out, key, isContainer(child) ? yield* removingNulls(child) : child);
  }
  return out;
}

/**
 * The smallest merge patch that turns one document into another. Nulls inside the other document cannot be expressed,
 * as null means delete; they are left out.
 */
export function createMergePatch(before: JsonObject, after: JsonObject): JsonObject {
  const patch: Record<string, JsonValue> = {};
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) setOwnValue(patch, key, null);
  for (const key of Object.keys(after)) {
    const value = after[key] ?? null;
    const current = ownValue(before, key);
    if (value === null || (current !== undefined && jsonEqual(current, value))) continue;
    const nested = isJsonObject(current) && isJsonObject(value);
    setOwnValue(patch, key, nested ? createMergePatch(current, value) : value);
  }
  return patch;
}
