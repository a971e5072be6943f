// SPDX-License-Identifier: Apache-2.0
// Strategic merge patch: a merge patch that knows the schema. Lists merge where their schema says so, and directives in
// the patch say what a merge alone cannot.
import { finish, isPartDone, type Work } from "@purlin/base";
import { goPlain } from "../json/go-text.ts";
import {
  copying,
  isJsonArray,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  ownValue,
  setOwnValue,
} from "../json/json-value.ts";
import { removingNulls } from "./merge-patch.ts";
import {
  asPatchFailure,
  badDirective,
  badType,
  type FindComponent,
  fieldMeta,
  listMeta,
  noMergeKey,
  type PatchMeta,
  type PatchSchema,
  patchSchemaOf,
  unknownDirective,
} from "./patch-schema.ts";
import { deletingItems, identityOf, itemForm, mergeList, ordering } from "./strategic-list.ts";

/** Where the schema of a kind and its components are found. */
export interface StrategicMergeSchema {
  readonly schema: JsonObject;
  readonly component: FindComponent;
}

/**
 * The object of a built-in kind with the patch merged in, the given one untouched. Throws a StatusError in the
 * reference's words when the patch makes no sense.
 */
export function applyStrategicMergePatch(
  object: JsonObject,
  patch: JsonObject,
  schema: StrategicMergeSchema,
): JsonObject {
  return finish(applyingStrategicMergePatch(object, patch, schema));
}

/** {@link applyStrategicMergePatch} in parts. */
export function* applyingStrategicMergePatch(
  object: JsonObject,
  patch: JsonObject,
  { schema, component }: StrategicMergeSchema,
): Work<JsonObject> {
  try {
    return yield* mergingMap(object, patch, patchSchemaOf(schema, component));
  } catch (error) {
    throw asPatchFailure(error);
  }
}

const deletePrefix = "$deleteFromPrimitiveList";
const isDeletion = (key: string): boolean => key.startsWith(deletePrefix);

function* mergingMap(original: JsonObject, patch: JsonObject, schema: PatchSchema): Work<JsonObject> {
  const directive = ownValue(patch, "$patch");
  if (directive !== undefined) return applyDirective(directive, patch);
  const retained = retainKeys(original, patch);
  const ordered = yield* applyElementOrders(retained.original, retained.patch, {
    schema,
    mergeItem: mergingMap,
    clean: removingDirectives,
  });
  const out = yield* copying(ordered.original);
  for (const key of Object.keys(ordered.patch)) {
    if (isPartDone()) yield;
    yield* mergeKey(out, { key, patch: ordered.patch[key] ?? null }, schema);
  }
  return out;
}

function applyDirective(directive: JsonValue, patch: JsonObject): JsonObject {
  if (directive === "delete") return {};
  if (directive !== "replace") throw unknownDirective(directive, patch);
  const { $patch: _directive, ...rest } = patch;
  return rest;
}

interface Pair {
  readonly original: JsonObject;
  readonly patch: JsonObject;
}

// `$retainKeys` lists the keys that may remain; the patch may not set any other.
function retainKeys(original: JsonObject, patch: JsonObject): Pair {
  const list = ownValue(patch, "$retainKeys");
  if (list === undefined) return { original, patch };
  if (!isJsonArray(list)) throw badDirective("retainKeys");
  const kept = new Set<JsonValue>(list);
  const { $retainKeys: _list, ...rest } = patch;
  for (const [key, value] of Object.entries(rest)) {
    if (value === null || isDeletion(key) || key.startsWith("$setElementOrder")) continue;
    if (!kept.has(key)) throw badDirective("retainKeys");
  }
  const remaining = Object.entries(original).filter(([key]) => kept.has(key));
  return { original: Object.fromEntries(remaining), patch: rest };
}

function* mergeKey(
  out: Record<string, JsonValue>,
  { key, patch }: { readonly key: string; readonly patch: JsonValue },
  schema: PatchSchema,
): Work<void> {
  const deletes = isDeletion(key);
  const name = deletes ? listName(key) : key;
  const current = Object.hasOwn(out, name) ? out[name] : undefined;
  if (patch === null) {
    delete out[name];
  } else if (isJsonObject(current) && isJsonObject(patch)) {
    const meta = fieldMeta(schema, name);
    setOwnValue(out, name, meta.strategy === "replace" ? patch : yield* mergingMap(current, patch, meta.field));
  } else if (isJsonArray(current) && isJsonArray(patch)) {
    setOwnValue(out, name, yield* mergeArrays(current, patch, { schema, name, deletes }));
  } else if (!deletes) {
    yield* takeNew(out, name, patch);
  }
}

function listName(key: string): string {
  const slash = key.indexOf("/");
  if (slash === -1 || key.slice(0, slash) !== deletePrefix) throw badDirective("primitive list");
  return key.slice(slash + 1);
}

interface ListPlace {
  readonly schema: PatchSchema;
  readonly name: string;
  readonly deletes: boolean;
}

function* mergeArrays(current: JsonArray, patch: JsonArray, { schema, name, deletes }: ListPlace): Work<JsonArray> {
  const meta = listMeta(schema, name);
  if (deletes) return yield* deletingItems(current, patch);
  if (meta.strategy !== "merge") return patch;
  return yield* mergeList({ original: current, patch }, meta, (item, change) => mergingMap(item, change, meta.field));
}

// Nulls and `$patch` directives have nothing to act on in what is new.
function* takeNew(out: Record<string, JsonValue>, name: string, patch: JsonValue): Work<void> {
  const value = yield* removingDirectives(yield* removingNulls(patch));
  if (value === undefined) delete out[name];
  else setOwnValue(out, name, value);
}

/** The value without maps that carry a `$patch` directive; undefined when it is one itself. */
function* removingDirectives(value: JsonValue): Work<JsonValue | undefined> {
  if (Array.isArray(value)) {
    const items: JsonValue[] = [];
    for (const item of value as readonly JsonValue[]) {
      if (isPartDone()) yield;
      const kept = yield* removingDirectives(item);
      if (kept !== undefined) items.push(kept);
    }
    return items;
  }
  if (!isJsonObject(value)) return value;
  if (Object.hasOwn(value, "$patch")) return undefined;
  const out: Record<string, JsonValue> = {};
  for (const key of Object.keys(value)) {
    if (isPartDone()) yield;
    const child = yield* removingDirectives(value[key] ?? null);
    if (child !== undefined) setOwnValue(out, key, child);
  }
  return out;
}

// `$setElementOrder/<list>` says in which order the items of a merged list stand. The list is merged here, together with
// the patch for it, and both leave the patch.

const orderPrefix = "$setElementOrder";

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
function* applyElementOrders(original: JsonObject, patch: JsonObject, context: OrderContext): Work<Ordered> {
  const keys = Object.keys(patch).filter((key) => key.startsWith(orderPrefix));
  if (keys.length === 0) return { original, patch };
  const out: Record<string, JsonValue> = { ...original };
  const rest: Record<string, JsonValue> = { ...patch };
  for (const key of keys) {
    const order = rest[key] ?? null;
    delete rest[key];
    yield* orderOne({ out, patch: rest }, { order, name: orderedListName(key, order) }, context);
  }
  return { original: out, patch: rest };
}

function orderedListName(key: string, order: JsonValue): string {
  if (!isJsonArray(order)) throw badType("list", order);
  const slash = key.indexOf("/");
  if (slash === -1 || key.slice(0, slash) !== orderPrefix) throw badDirective("setElementOrder list");
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
  yield* checkingOrder(change ?? [], wanted, meta.mergeKey);
  const merged = yield* mergedList({ current, change }, meta, context);
  if (!merged) return;
  const [first] = [...merged, ...(current ?? [])];
  const isMap = itemForm([current ?? [], change ?? []]) === "map";
  // Objects without a key have no order.
  if (isMap && meta.mergeKey === "" && isJsonObject(first ?? null)) throw noMergeKey(first as JsonObject, "");
  const orders = { patch: wanted, server: current ?? [], mergeKey: meta.mergeKey };
  setOwnValue(out, name, yield* ordering(merged, orders));
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
function* checkingOrder(patch: JsonArray, order: JsonArray, mergeKey: string): Work<void> {
  if (patch.length === 0 || order.length === 0) return;
  const items = mergeKey === "" ? patch : patch.filter((item) => !deletesItem(item));
  let next = 0;
  for (const place of order) {
    if (isPartDone()) yield;
    while (isDirective(items[next])) next++;
    const item = items[next];
    if (item === undefined) return;
    if (identityOf(item, mergeKey) === identityOf(place, mergeKey)) next++;
  }
  if (next < items.length) {
    throw new Error(
      `The order in patch list:\n${goPlain(patch)}\n doesn't match ${orderPrefix} list:\n${goPlain(order)}\n`,
    );
  }
}

function deletesItem(item: JsonValue): boolean {
  if (!isJsonObject(item)) throw badType("map", item);
  return ownValue(item, "$patch") === "delete";
}

const isDirective = (item: JsonValue | undefined): boolean =>
  item !== undefined && isJsonObject(item) && Object.hasOwn(item, "$patch");
