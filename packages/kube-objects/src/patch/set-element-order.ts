// SPDX-License-Identifier: Apache-2.0
// `$setElementOrder/<list>` says in which order the items of a merged list stand. The list is merged here, together with
// the patch for it, and both leave the patch.
import type { Work } from "@purlin/base";
import { goPlain } from "../json/go-text.ts";
import {
  isJsonArray,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  ownValue,
  setOwnValue,
} from "../json/json-value.ts";
import { badDirective, badType, listMeta, noMergeKey, type PatchMeta, type PatchSchema } from "./patch-schema.ts";
import { identityOf, itemForm, mergeList, orderItems } from "./strategic-list.ts";

const prefix = "$setElementOrder";

/** What ordering needs of the merge it is part of. */
interface OrderContext {
  readonly schema: PatchSchema;
  readonly mergeItem: (original: JsonObject, patch: JsonObject, of: PatchSchema) => Work<JsonObject>;
  readonly clean: (value: JsonValue) => Work<JsonValue | undefined>;
}

/** An object and what is left of the patch for it. */
interface Ordered {
  readonly original: JsonObject;
  readonly patch: JsonObject;
}

/** Merges and orders every list the patch has an order for. */
export function* applyElementOrders(original: JsonObject, patch: JsonObject, context: OrderContext): Work<Ordered> {
  const keys = Object.keys(patch).filter((key) => key.startsWith(prefix));
  if (keys.length === 0) return { original, patch };
  const out: Record<string, JsonValue> = { ...original };
  const rest: Record<string, JsonValue> = { ...patch };
  for (const key of keys) {
    const order = rest[key] ?? null;
    delete rest[key];
    yield* orderOne({ out, patch: rest }, { order, name: listName(key, order) }, context);
  }
  return { original: out, patch: rest };
}

function listName(key: string, order: JsonValue): string {
  if (!isJsonArray(order)) throw badType("list", order);
  const slash = key.indexOf("/");
  if (slash === -1 || key.slice(0, slash) !== prefix) throw badDirective("setElementOrder list");
  return key.slice(slash + 1);
}

interface ElementOrder {
  readonly order: JsonValue;
  readonly name: string;
}

function* orderOne(
  { out, patch }: { readonly out: Record<string, JsonValue>; readonly patch: Record<string, JsonValue> },
  { order, name }: ElementOrder,
  context: OrderContext,
): Work<void> {
  const current = listOf(out, name);
  const change = listOf(patch, name);
  const meta = listMeta(context.schema, name);
  const wanted = order as JsonArray;
  checkOrder(change ?? [], wanted, meta.mergeKey);
  const merged = yield* mergedList({ current, change }, meta, context);
  if (!merged) return;
  const [first] = [...merged, ...(current ?? [])];
  const isMap = itemForm([current ?? [], change ?? []]) === "map";
  // Objects without a key have no order.
  if (isMap && meta.mergeKey === "" && isJsonObject(first ?? null)) throw noMergeKey(first as JsonObject, "");
  setOwnValue(out, name, orderItems(merged, { patch: wanted, server: current ?? [], mergeKey: meta.mergeKey }));
  delete patch[name];
}

function listOf(object: Readonly<Record<string, JsonValue>>, name: string): JsonArray | undefined {
  const value = ownValue(object, name);
  if (value === undefined) return undefined;
  if (!isJsonArray(value)) throw badType("list", value);
  return value;
}

function* mergedList(
  { current, change }: { readonly current: JsonArray | undefined; readonly change: JsonArray | undefined },
  meta: PatchMeta,
  { mergeItem, clean }: OrderContext,
): Work<JsonArray | undefined> {
  if (!change) return current;
  if (!current) return ((yield* clean(change)) ?? []) as JsonArray;
  if (meta.strategy !== "merge") return change;
  return yield* mergeList({ original: current, patch: change }, meta, (item, patch) =>
    mergeItem(item, patch, meta.field),
  );
}

// Every item the patch sets has to be in the order, and in the same sequence.
function checkOrder(patch: JsonArray, order: JsonArray, mergeKey: string): void {
  if (patch.length === 0 || order.length === 0) return;
  const items = mergeKey === "" ? patch : patch.filter((item) => !isDeletion(item));
  let next = 0;
  for (const place of order) {
    while (isDirective(items[next])) next++;
    const item = items[next];
    if (item === undefined) return;
    if (identityOf(item, mergeKey) === identityOf(place, mergeKey)) next++;
  }
  if (next < items.length) {
    throw new Error(`The order in patch list:\n${goPlain(patch)}\n doesn't match ${prefix} list:\n${goPlain(order)}\n`);
  }
}

function isDeletion(item: JsonValue): boolean {
  if (!isJsonObject(item)) throw badType("map", item);
  return ownValue(item, "$patch") === "delete";
}

const isDirective = (item: JsonValue | undefined): boolean =>
  item !== undefined && isJsonObject(item) && Object.hasOwn(item, "$patch");
