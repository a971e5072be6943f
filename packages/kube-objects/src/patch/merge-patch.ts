// SPDX-License-Identifier: Apache-2.0
// JSON merge patch (RFC 7386): null deletes, lists are replaced, objects merge.
import { jsonEqual } from "../json/json-equal.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { ownValue, setOwnValue } from "../json/own-value.ts";

/** The document with the patch merged in, the given one untouched; the document itself when nothing changes. */
export function applyMergePatch(document: JsonObject, patch: JsonObject): JsonObject {
  const changes = new Map<string, JsonValue>();
  const removed = new Set<string>();
  for (const key of Object.keys(patch)) {
    const value = patch[key] ?? null;
    const current = ownValue(document, key);
    if (value === null) {
      if (current !== undefined) removed.add(key);
      continue;
    }
    const merged = current === undefined || current === null ? withoutNulls(value) : mergeValue(current, value);
    if (merged !== current) changes.set(key, merged);
  }
  if (changes.size === 0 && removed.size === 0) return document;
  const out: Record<string, JsonValue> = removed.size === 0 ? { ...document } : without(document, removed);
  for (const [key, value] of changes) setOwnValue(out, key, value);
  return out;
}

/** A copy without some members. To delete them one by one from a copy takes long where there are many. */
function without(document: JsonObject, removed: ReadonlySet<string>): Record<string, JsonValue> {
  const out: Record<string, JsonValue> = {};
  for (const key of Object.keys(document)) if (!removed.has(key)) setOwnValue(out, key, document[key] ?? null);
  return out;
}

// What replaces an object is taken as it is; what replaces anything else loses its nulls first, as in the reference.
function mergeValue(current: JsonValue, patch: JsonValue): JsonValue {
  if (!isJsonObject(current)) {
    const value = withoutNulls(patch);
    return jsonEqual(current, value) ? current : value;
  }
  return isJsonObject(patch) ? applyMergePatch(current, patch) : patch;
}

/** A value that is new: nulls mean "delete", so they have no place in it. Items of lists that are null stay. */
export function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const out: Record<string, JsonValue> = {};
  for (const key of Object.keys(value)) {
    const child = value[key] ?? null;
    if (child !== null) setOwnValue(out, key, withoutNulls(child));
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
