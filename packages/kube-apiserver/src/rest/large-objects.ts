// SPDX-License-Identifier: Apache-2.0
// Writes of large objects: what takes long about them is done in parts before the store decides, so that the decision is short.

import { inTurns, type Work } from "@purlin/base";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  setOwnValue,
  sortedKeys,
} from "@purlin/kube-objects/json";
import { inNameOrder } from "../objects/member-order.ts";
import { withMeta } from "../objects/object-meta.ts";
import type { Entry } from "../store/store.ts";
import { convertedEntry } from "./converted-entries.ts";
import { freeze, inStoredOrder } from "./object-codec.ts";
import type { RestRequest } from "./rest-context.ts";

/** From this size on others get their turn while an object is worked on. */
const largeBytes = 8 * 1024;
/** A value with more parts than this is large. */
const largeParts = 2000;

/** Whether a request carries a large object or patch. */
export function isLargeRequest({ request }: RestRequest): boolean {
  const { body, headers } = request;
  if (body.kind === "value") return countParts(body.value, largeParts) > largeParts;
  return body.kind === "bytes" && Number(headers["content-length"] ?? Number.POSITIVE_INFINITY) > largeBytes;
}

/** Whether a stored object is large. */
export function isLargeEntry(entry: Entry<JsonObject> | undefined): boolean {
  return (entry?.bytes.length ?? 0) > largeBytes;
}

/** How many values there are in a value; more than `most` are not counted. */
function countParts(value: unknown, most: number): number {
  let count = 1;
  if (typeof value !== "object" || value === null) return count;
  for (const key in value) {
    count += countParts((value as Record<string, unknown>)[key], most - count);
    if (count > most) break;
  }
  return count;
}

/** Stored forms of large objects, but for their resourceVersion. */
const storedForms = new WeakMap<JsonObject, JsonObject>();

/** Makes the stored form of a large object in parts, so that {@link preparedStoredForm} has it. */
export function* prepareStoredForm({ strategy, type }: RestRequest, object: JsonObject): Work<void> {
  yield;
  const stored = withMeta(strategy.storage.toStored(object), { resourceVersion: "0" });
  const form = type.custom ? yield* orderedInParts(stored) : inStoredOrder(stored, type);
  yield;
  for (const name of Object.keys(form)) {
    if (name !== "metadata") {
      freeze(form[name]);
      yield;
    }
  }
  const metadata = ownValue(form, "metadata");
  for (const name of isJsonObject(metadata) ? Object.keys(metadata) : []) {
    freeze((metadata as JsonObject)[name]);
    yield;
  }
  storedForms.set(object, form);
}

/** {@link inNameOrder}, with metadata and the other members one by one. */
function* orderedInParts(object: JsonObject): Work<JsonObject> {
  const members: Record<string, JsonValue> = {};
  for (const name of sortedKeys(object)) {
    const value = ownValue(object, name) ?? null;
    setOwnValue(
      members,
      name,
      name === "metadata" && isJsonObject(value) ? yield* orderedInParts(value) : inNameOrder(value),
    );
    yield;
  }
  return members;
}

/** The stored form made before, with its resourceVersion; undefined when there is none. */
export function preparedStoredForm(object: JsonObject, revision: number): JsonObject | undefined {
  const form = storedForms.get(object);
  const metadata = form && ownValue(form, "metadata");
  return form === undefined || !isJsonObject(metadata)
    ? undefined
    : { ...form, metadata: { ...metadata, resourceVersion: String(revision) } };
}

/** Makes what a response with a large or converted object shows, in turns. Returns the entry to respond with. */
export async function prepareToServe({ strategy }: RestRequest, entry: Entry<JsonObject>): Promise<Entry<JsonObject>> {
  if (strategy.storage.conversion !== undefined) return convertedEntry(strategy, entry);
  if (strategy.storage.serving !== undefined && isLargeEntry(entry)) {
    await inTurns(strategy.storage.serving(entry.value));
  }
  return entry;
}
