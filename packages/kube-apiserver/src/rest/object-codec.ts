// SPDX-License-Identifier: Apache-2.0

import { inTurns, type Work } from "@purlin/base";
import { requestEntityTooLarge } from "@purlin/kube-objects/errors";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  parseJson,
  printJson,
} from "@purlin/kube-objects/json";
import { inTypedOrder } from "@purlin/kube-objects/typed";
import { inNameOrder, orderingByName, withMeta } from "../objects/object-members.ts";
import type { Change, Codec, Entry } from "../store/store.ts";
import type { ObjectStrategy } from "../strategy/object-strategy.ts";
import type { RestRequest } from "./rest-context.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * An object may not be larger than this when it is stored. Request bodies have a lower limit; objects of the control plane's own
 * controllers, such as a composite resource with the status that a function wants, come without a body.
 */
const maxObjectBytes: number = 4 * 1024 * 1024;

/** Texts of large objects that were printed in parts before. */
const printed = new WeakMap<JsonObject, string>();

/** Notes the text of an object that is about to be stored. */
function notePrinted(object: JsonObject, text: string): void {
  printed.set(object, text);
}

/** A value as objects are stored. */
function storedText(value: JsonValue): string {
  return printJson(value, { htmlSafe: true });
}

/** How objects are stored: as the JSON that is sent, resourceVersion included. */
export const objectCodec: Codec<JsonObject> = {
  encode: (object) => {
    freeze(object);
    const bytes = encoder.encode(printed.get(object) ?? storedText(object));
    printed.delete(object);
    if (bytes.length > maxObjectBytes) throw requestEntityTooLarge(`limit is ${maxObjectBytes}`);
    return bytes;
  },
  decode: (bytes) => {
    const object = parseJson(decoder.decode(bytes)) as JsonObject;
    freeze(object);
    return object;
  },
};

/** Freezes a value and everything in it; what is frozen already is taken to be frozen to the bottom. */
function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  if (Array.isArray(value)) {
    for (const item of value) {
      if (typeof item === "object") freeze(item);
    }
    return;
  }
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    if (typeof member === "object") freeze(member);
  }
}

/**
 * The object with its members in the order in which the reference writes them: as their Go types have them for built-in kinds, by name
 * for custom ones. {@link typeHead} relies on the type coming first.
 */
export function inStoredOrder(
  object: JsonObject,
  { custom }: { readonly custom: boolean } = { custom: false },
): JsonObject {
  return custom ? inNameOrder(object) : inTypedOrder(object);
}

/** What the bytes of every stored object of a built-in type begin with: everything before its metadata. */
export function typeHead(apiVersion: string, kind: string): Uint8Array {
  return encoder.encode(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`);
}

const utf8 = new TextEncoder();
/** Entries that were found to be shown as they are stored, and by which strategy. */
const shownAsStored = new WeakMap<Entry<JsonObject>, ObjectStrategy>();

/** The bytes of an object as a version shows it: those that are stored, wherever that is how it is shown. */
export function servedBytes(entry: Entry<JsonObject>, strategy: ObjectStrategy): Uint8Array {
  if (strategy.storage.servesStoredBytes || shownAsStored.get(entry) === strategy) return entry.bytes;
  const served = strategy.storage.toServed(entry.value);
  if (served === entry.value) {
    shownAsStored.set(entry, strategy);
    return entry.bytes;
  }
  return utf8.encode(
    printJson(inStoredOrder(served, { custom: served["apiVersion"] !== "events.k8s.io/v1" }), { htmlSafe: true }),
  );
}

// Writes of large objects: what takes long about them is done in parts before the store decides, so that the decision is short.

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
export function countParts(value: unknown, most: number): number {
  let count = 1;
  if (typeof value !== "object" || value === null) return count;
  for (const key in value) {
    count += countParts((value as Record<string, unknown>)[key], most - count);
    if (count > most) break;
  }
  return count;
}

/** A large object as it will be stored, but for its resourceVersion, with the texts of its members. */
interface StoredForm {
  readonly form: JsonObject;
  readonly texts: Texts;
  readonly metaTexts: Texts;
}

/** Texts by member. Printing the members one by one takes as long as printing all, but lets others have their turn. */
type Texts = ReadonlyMap<string, string>;

const storedForms = new WeakMap<JsonObject, StoredForm>();

/** Makes the stored form of a large object in parts, so that {@link preparedStoredForm} has it. */
export function* prepareStoredForm({ strategy, type }: RestRequest, object: JsonObject): Work<void> {
  yield;
  const stored = withMeta(strategy.storage.toStored(object), { resourceVersion: "0" });
  const form = type.custom ? ((yield* orderingByName(stored)) as JsonObject) : inStoredOrder(stored, type);
  yield;
  const { metadata = {}, ...others } = form;
  const texts = yield* printingMembers(others);
  const metaTexts = yield* printingMembers(metadata as JsonObject);
  storedForms.set(object, { form, texts, metaTexts });
}

function* printingMembers(object: JsonObject): Work<Texts> {
  const texts = new Map<string, string>();
  for (const name of Object.keys(object)) {
    const value = ownValue(object, name);
    if (value === undefined) continue;
    freeze(value);
    yield;
    texts.set(name, storedText(value));
    yield;
  }
  return texts;
}

function textOf(names: readonly string[], textOfMember: (name: string) => string | undefined): string {
  const members = names.flatMap((name) => {
    const text = textOfMember(name);
    return text === undefined ? [] : [`${storedText(name)}:${text}`];
  });
  return `{${members.join(",")}}`;
}

/** The stored form made before, with its resourceVersion; undefined when there is none. */
export function preparedStoredForm(object: JsonObject, revision: number): JsonObject | undefined {
  const known = storedForms.get(object);
  const metadata = known && ownValue(known.form, "metadata");
  if (known === undefined || !isJsonObject(metadata)) return undefined;
  const { form, texts, metaTexts } = known;
  const resourceVersion = String(revision);
  const result = { ...form, metadata: { ...metadata, resourceVersion } };
  const metaText = textOf(Object.keys(metadata), (name) =>
    name === "resourceVersion" ? storedText(resourceVersion) : metaTexts.get(name),
  );
  notePrinted(
    result,
    textOf(Object.keys(form), (name) => (name === "metadata" ? metaText : texts.get(name))),
  );
  return result;
}

/** Makes what a response with a large or converted object shows, in turns. Returns the entry to respond with. */
export async function prepareToServe({ strategy }: RestRequest, entry: Entry<JsonObject>): Promise<Entry<JsonObject>> {
  if (strategy.storage.conversion !== undefined) return convertedEntry(strategy, entry);
  if (strategy.storage.serving !== undefined && isLargeEntry(entry)) {
    await inTurns(strategy.storage.serving(entry.value));
  }
  return entry;
}

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
