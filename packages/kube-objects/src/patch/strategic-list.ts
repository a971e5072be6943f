// SPDX-License-Identifier: Apache-2.0
// Merging lists: of scalars as sets, of objects by their merge key.
// In which order the items of a merged list stand: those the patch mentions in the patch's order, those only the server
// has in the server's, and the two interleaved so that the server's order is kept where it says anything.
import { isPartDone, type Work } from "@purlin/base";
import { goJson, goPlain } from "../json/go-text.ts";
import { isJsonObject, type JsonArray, type JsonObject, type JsonValue, ownValue } from "../json/json-value.ts";
import { badType, itemKind, listOfLists, noMergeKey, type PatchMeta, unknownDirective } from "./patch-schema.ts";

/** Merges a patch item into the item it is about. */
type MergeItem = (original: JsonObject, patch: JsonObject) => Work<JsonObject>;

/** The list after a patch with merge strategy. */
export function* mergeList(
  { original, patch }: { readonly original: JsonArray; readonly patch: JsonArray },
  meta: PatchMeta,
  mergeItem: MergeItem,
): Work<JsonArray> {
  if (original.length === 0 && patch.length === 0) return original;
  const { mergeKey } = meta;
  if (itemForm([original, patch]) !== "map") {
    return orderItems(uniqueItems([...original, ...patch]), { patch, server: original, mergeKey });
  }
  if (mergeKey === "") throw new Error(`cannot merge lists without merge key for ${itemKind(meta.field)}`);
  const { kept, wanted } = applyDirectives(original as readonly JsonObject[], patch as readonly JsonObject[], mergeKey);
  yield;
  const merged = yield* mergeObjects(kept, wanted, { mergeKey, mergeItem });
  yield;
  return orderItems(merged, { patch: wanted, server: kept, mergeKey });
}

/** The list without the given scalars. */
export function deleteItems(original: JsonArray, toDelete: JsonArray): JsonArray {
  if (original.length === 0 && toDelete.length === 0) return original;
  if (itemForm([original, toDelete]) === "map") throw new Error("cannot delete maps from a list of primitives");
  const gone = placesIn(toDelete, "");
  return original.filter((item) => !gone.has(identityOf(item, "")));
}

/** What all items of some lists are; they have to be alike. */
export function itemForm(lists: readonly JsonArray[]): "map" | "scalar" {
  const [first] = lists.flat();
  if (first === undefined) throw new Error("no elements in any of the given slices");
  if (Array.isArray(first)) throw listOfLists();
  const form = formOf(first);
  for (const item of lists.flat()) {
    if (formOf(item) !== form) throw new Error(`list element types are not identical: ${goPlain(lists)}`);
  }
  return form === "map" ? "map" : "scalar";
}

const formOf = (item: JsonValue): string =>
  isJsonObject(item) ? "map" : typeof item === "bigint" ? "number" : typeof item;

function uniqueItems(items: readonly JsonValue[]): JsonValue[] {
  const seen = new Map<string, JsonValue>();
  for (const item of items) {
    const key = identityOf(item, "");
    if (!seen.has(key)) seen.set(key, item);
  }
  return [...seen.values()];
}

interface Directed {
  readonly kept: readonly JsonObject[];
  readonly wanted: readonly JsonObject[];
}

// `$patch: delete` takes items away, `$patch: replace` makes the rest of the patch the whole list.
function applyDirectives(original: readonly JsonObject[], patch: readonly JsonObject[], mergeKey: string): Directed {
  const wanted: JsonObject[] = [];
  const gone = new Set<string>();
  let replace = false;
  for (const item of patch) {
    const directive = ownValue(item, "$patch");
    if (directive === undefined) wanted.push(item);
    else if (directive === "delete") {
      if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
      gone.add(identityOf(item, mergeKey));
    } else if (directive === "replace") replace = true;
    else if (directive === "merge") throw new Error("merging lists cannot yet be specified in the patch");
    else throw unknownDirective(directive, item);
  }
  if (replace) return { kept: wanted, wanted: [] };
  const kept = original.filter((item) => !Object.hasOwn(item, mergeKey) || !gone.has(identityOf(item, mergeKey)));
  return { kept, wanted };
}

interface ObjectMerge {
  readonly mergeKey: string;
  readonly mergeItem: MergeItem;
}

// Items without the key among the server's own are left alone here; ordering refuses them later.
function* mergeObjects(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  { mergeKey, mergeItem }: ObjectMerge,
): Work<JsonObject[]> {
  const out = [...original];
  const places = new Map<string, number>();
  for (const [index, item] of out.entries()) {
    if (isPartDone()) yield;
    if (!Object.hasOwn(item, mergeKey)) continue;
    const key = identityOf(item, mergeKey);
    if (!places.has(key)) places.set(key, index);
  }
  for (const item of patch) {
    if (isPartDone()) yield;
    const key = identityOf(item, mergeKey);
    const place = places.get(key);
    const current = place === undefined ? undefined : out[place];
    if (place === undefined || !current) {
      places.set(key, out.length);
      out.push(item);
    } else {
      out[place] = yield* mergeItem(current, item);
    }
  }
  return out;
}

/** What identifies an item of a list: the value under the merge key, or the item itself where there is no key. */
export function identityOf(item: JsonValue, mergeKey: string): string {
  if (mergeKey === "") return identity(item);
  if (!isJsonObject(item)) throw badType("map", item);
  const value = ownValue(item, mergeKey);
  if (value === undefined) throw noMergeKey(item, mergeKey);
  return identity(value);
}

// Values of different types are never the same item.
const identity = (value: JsonValue): string => `${typeof value} ${goJson(value)}`;

/** The place of each item in a list, the first one counting. */
export function placesIn(list: JsonArray, mergeKey: string): Map<string, number> {
  const places = new Map<string, number>();
  for (const [index, item] of list.entries()) {
    const key = identityOf(item, mergeKey);
    if (!places.has(key)) places.set(key, index);
  }
  return places;
}

/** The lists that decide the order of a merged one. */
interface Orders {
  /** The order of the items the patch is about. */
  readonly patch: JsonArray;
  /** The order the server had. */
  readonly server: JsonArray;
  readonly mergeKey: string;
}

/** The merged items in order. */
export function orderItems(merged: JsonArray, { patch, server, mergeKey }: Orders): JsonValue[] {
  const wanted = placesIn(patch, mergeKey);
  const before = placesIn(server, mergeKey);
  const keyed = merged.map((item) => ({ item, key: identityOf(item, mergeKey) }));
  const ours = keyed.filter(({ key }) => wanted.has(key)).sort(byPlace(wanted));
  const theirs = keyed.filter(({ key }) => !wanted.has(key)).sort(byPlace(before));
  return interleave(theirs, ours, before).map(({ item }) => item);
}

interface Keyed {
  readonly item: JsonValue;
  readonly key: string;
}

// What has no place comes last.
const byPlace =
  (places: ReadonlyMap<string, number>) =>
  (a: Keyed, b: Keyed): number =>
    (places.get(a.key) ?? places.size) - (places.get(b.key) ?? places.size);

// A server item goes before a patch item only where the server had it so.
function interleave(left: readonly Keyed[], right: readonly Keyed[], places: ReadonlyMap<string, number>): Keyed[] {
  const out: Keyed[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    const l = left[i];
    const r = right[j];
    if (l && (!r || isBefore(places, l.key, r.key))) {
      out.push(l);
      i++;
    } else if (r) {
      out.push(r);
      j++;
    }
  }
  return out;
}

function isBefore(places: ReadonlyMap<string, number>, left: string, right: string): boolean {
  const l = places.get(left);
  const r = places.get(right);
  return l !== undefined && r !== undefined && l < r;
}
