// SPDX-License-Identifier: Apache-2.0
// Merging lists: of scalars as sets, of objects by their merge key.
// In which order the items of a merged list stand: those the patch mentions in the patch's order, those only the server
// has in the server's, and the two interleaved so that the server's order is kept where it says anything.
import { isPartDone, sorting, type Work } from "@purlin/base";
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
    const unique = yield* findingUnique([...original, ...patch]);
    return yield* ordering(unique, { patch, server: original, mergeKey });
  }
  if (mergeKey === "") throw new Error(`cannot merge lists without merge key for ${itemKind(meta.field)}`);
  const { kept, wanted } = applyDirectives(original as readonly JsonObject[], patch as readonly JsonObject[], mergeKey);
  yield;
  const merged = yield* mergeObjects(kept, wanted, { mergeKey, mergeItem });
  yield;
  return yield* ordering(merged, { patch: wanted, server: kept, mergeKey });
}

/** The list without the given scalars. */
export function* deletingItems(original: JsonArray, toDelete: JsonArray): Work<JsonArray> {
  if (original.length === 0 && toDelete.length === 0) return original;
  if (itemForm([original, toDelete]) === "map") throw new Error("cannot delete maps from a list of primitives");
  const gone = yield* findingPlaces(toDelete, "");
  const kept: JsonValue[] = [];
  for (const item of original) {
    if (isPartDone()) yield;
    if (!gone.has(identityOf(item, ""))) kept.push(item);
  }
  return kept;
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

function* findingUnique(items: readonly JsonValue[]): Work<JsonValue[]> {
  const seen = new Map<string, JsonValue>();
  for (const item of items) {
    if (isPartDone()) yield;
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
export function* findingPlaces(list: JsonArray, mergeKey: string): Work<Map<string, number>> {
  const places = new Map<string, number>();
  for (const [index, item] of list.entries()) {
    if (isPartDone()) yield;
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
export function* ordering(merged: JsonArray, { patch, server, mergeKey }: Orders): Work<JsonValue[]> {
  const wanted = yield* findingPlaces(patch, mergeKey);
  const before = yield* findingPlaces(server, mergeKey);
  const ours: Placed[] = [];
  const theirs: Placed[] = [];
  for (const item of merged) {
    if (isPartDone()) yield;
    const key = identityOf(item, mergeKey);
    const [place, atServer] = [wanted.get(key), before.get(key)];
    if (place !== undefined) ours.push({ item, place, atServer });
    // What has no place comes last.
    else theirs.push({ item, place: atServer ?? before.size, atServer });
  }
  return yield* interleaving(yield* sorting(theirs, byPlace), yield* sorting(ours, byPlace));
}

interface Placed {
  readonly item: JsonValue;
  /** In the list that decides its order. */
  readonly place: number;
  /** In the list of the server; undefined when it is new. */
  readonly atServer: number | undefined;
}

const byPlace = (a: Placed, b: Placed): number => a.place - b.place;

// A server item goes before a patch item only where the server had it so.
function* interleaving(left: readonly Placed[], right: readonly Placed[]): Work<JsonValue[]> {
  const out: JsonValue[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    if (isPartDone()) yield;
    const l = left[i];
    const r = right[j];
    if (l && (!r || isBefore(l, r))) {
      out.push(l.item);
      i++;
    } else if (r) {
      out.push(r.item);
      j++;
    }
  }
  return out;
}

const isBefore = ({ atServer: l }: Placed, { atServer: r }: Placed): boolean =>
  l !== undefined && r !== undefined && l < r;
