// SPDX-License-Identifier: Apache-2.0
import { inTurns } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { Change, Entry } from "../store/store.ts";
import type { ObjectStrategy } from "../strategy/object-strategy.ts";

/** An entry that keeps its decoded value, because what it was converted to is known by that value. */
function withValue(entry: Entry<JsonObject>): Entry<JsonObject> {
  const { key, revision, createRevision, expiresAt, bytes, value } = entry;
  return { key, revision, createRevision, expiresAt, bytes, value };
}

/** Entries whose objects can be served: those of a kind with a conversion webhook are converted, together. */
export async function convertedEntries(
  { storage }: ObjectStrategy,
  entries: readonly Entry<JsonObject>[],
): Promise<readonly Entry<JsonObject>[]> {
  if (storage.conversion === undefined) return entries;
  const kept = entries.map(withValue);
  await storage.conversion.servingAll(kept.map(({ value }) => value));
  return kept;
}

/** An entry whose object can be served. A conversion webhook is called although the object may have been converted before. */
export async function convertedEntry(
  { storage }: ObjectStrategy,
  entry: Entry<JsonObject>,
): Promise<Entry<JsonObject>> {
  if (storage.conversion === undefined) return entry;
  const kept = withValue(entry);
  if (storage.serving !== undefined) await inTurns(storage.serving(kept.value));
  return kept;
}

/** {@link convertedEntries} of changes: the objects before and after each. */
export async function convertedChanges(
  { storage }: ObjectStrategy,
  changes: readonly Change<JsonObject>[],
): Promise<readonly Change<JsonObject>[]> {
  const kept = changes.map((change) => ({
    ...change,
    entry: change.entry && withValue(change.entry),
    previous: change.previous && withValue(change.previous),
  }));
  const values = kept.flatMap(({ entry, previous }) => [entry, previous].flatMap((one) => (one ? [one.value] : [])));
  await storage.conversion?.servingAll(values);
  return kept;
}
