// SPDX-License-Identifier: Apache-2.0
// A write that changes nothing must not even change a time: controllers apply again on every reconcile, and a new time
// would be a new resourceVersion, an event, and another reconcile.
import { jsonEqual } from "../json/json-equal.ts";
import { isJsonObject, type JsonObject } from "../json/json-value.ts";
import { ownValue, withoutOwnValue } from "../json/own-value.ts";
import type { ManagedFieldsEntry } from "../object/object-meta.ts";
import { managedFieldsOf } from "./managers.ts";

/**
 * The old object itself when the new one differs from it in nothing but the times of its managedFields, and the new one
 * otherwise. To be asked after all other changes to the new object are made.
 */
export function unlessOnlyTimesChanged(next: JsonObject, old: JsonObject): JsonObject {
  if (next === old) return old;
  const entries = managedFieldsOf(next) ?? [];
  const before = managedFieldsOf(old) ?? [];
  if (entries.length !== before.length || entries.length === 0) return next;
  if (entries.every((entry, index) => entry.time === before[index]?.time)) return next;
  if (!entries.every((entry, index) => sameButTime(entry, before[index]))) return next;
  return jsonEqual(withoutManagedFields(next), withoutManagedFields(old)) ? old : next;
}

function sameButTime(a: ManagedFieldsEntry, b: ManagedFieldsEntry | undefined): boolean {
  if (b === undefined) return false;
  const { time: _a, ...one } = a;
  const { time: _b, ...other } = b;
  return jsonEqual(one as JsonObject, other as JsonObject);
}

function withoutManagedFields(object: JsonObject): JsonObject {
  const metadata = ownValue(object, "metadata");
  if (!isJsonObject(metadata)) return object;
  return { ...object, metadata: withoutOwnValue(metadata, "managedFields") };
}
