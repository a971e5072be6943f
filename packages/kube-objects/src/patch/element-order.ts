// SPDX-License-Identifier: Apache-2.0
// In which order the items of a merged list stand: those the patch mentions in the patch's order, those only the server
// has in the server's, and the two interleaved so that the server's order is kept where it says anything.
import { goJson } from "../json/go-text.ts";
import { isJsonObject, type JsonArray, type JsonValue } from "../json/json-value.ts";
import { ownValue } from "../json/own-value.ts";
import { badType, noMergeKey } from "./strategic-errors.ts";

/** What tells items of a list apart: the value under the merge key, or the item itself where there is no key. */
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
