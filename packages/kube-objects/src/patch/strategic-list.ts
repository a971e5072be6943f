// SPDX-License-Identifier: Apache-2.0
// Merging lists: of scalars as sets, of objects by their merge key.

import { goPlain } from "../json/go-value.ts";
import { isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { ownValue } from "../json/own-value.ts";
import { identityOf, orderItems, placesIn } from "./element-order.ts";
import { itemKind, type PatchMeta } from "./patch-schema.ts";
import { listOfLists, noMergeKey, unknownDirective } from "./strategic-errors.ts";

/** Merges a patch item into the item it is about. */
type MergeItem = (original: JsonObject, patch: JsonObject) => JsonObject;

/** The list after a patch with merge strategy. */
export function mergeList(
  { original, patch }: { readonly original: JsonArray; readonly patch: JsonArray },
  meta: PatchMeta,
  mergeItem: MergeItem,
): JsonArray {
  if (original.length === 0 && patch.length === 0) return original;
  const { mergeKey } = meta;
  if (itemForm([original, patch]) !== "map") {
    return orderItems(uniqueItems([...original, ...patch]), { patch, server: original, mergeKey });
  }
  if (mergeKey === "") throw new Error(`cannot merge lists without merge key for ${itemKind(meta.field)}`);
  const { kept, wanted } = applyDirectives(original as readonly JsonObject[], patch as readonly JsonObject[], mergeKey);
  const merged = mergeObjects(kept, wanted, { mergeKey, mergeItem });
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
function mergeObjects(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  { mergeKey, mergeItem }: ObjectMerge,
): JsonObject[] {
  const out = [...original];
  const places = new Map<string, number>();
  for (const [index, item] of out.entries()) {
    if (!Object.hasOwn(item, mergeKey)) continue;
    const key = identityOf(item, mergeKey);
    if (!places.has(key)) places.set(key, index);
  }
  for (const item of patch) {
    const key = identityOf(item, mergeKey);
    const place = places.get(key);
    const current = place === undefined ? undefined : out[place];
    if (place === undefined || !current) {
      places.set(key, out.length);
      out.push(item);
    } else {
      out[place] = mergeItem(current, item);
    }
  }
  return out;
}
