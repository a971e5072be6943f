// SPDX-License-Identifier: Apache-2.0
// The fields a value mentions: what an applier owns after applying it.
// What a schema says about a set of fields, without any value.
import { finish, isPartDone, type Work } from "@purlin/base";
import { isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { type ApplyType, formOf, type ListType, type MapType, typeOfKey } from "./apply-type.ts";
import {
  asMember,
  emptySet,
  type FieldSet,
  type FieldSetChildren,
  fieldSetNode,
  hasChildren,
  leaf,
} from "./field-set.ts";
import { itemName } from "./item-key.ts";

/** What {@link fieldSetOf} noticed on the way. */
export interface FieldSetNotes {
  /** A declared map or list was mentioned as null or empty, so that it is owned without anything in it being so. */
  ownsEmptyContainer: boolean;
}

/**
 * Every leaf a value has, every item of a keyed list or set, every key of a map that is not a declared field, every null
 * and every empty map. Structs are not members themselves: several managers may own parts of one.
 */
export function fieldSetOf(type: ApplyType, value: JsonValue, notes?: FieldSetNotes): FieldSet {
  return finish(findingFields(type, value, notes));
}

/** {@link fieldSetOf} in parts. */
export function* findingFields(type: ApplyType, value: JsonValue, notes?: FieldSetNotes): Work<FieldSet> {
  return fieldsAtOnce(type, value) ?? (yield* fieldsInside(type, value, notes));
}

/** The fields where nothing inside the value has to be looked at; undefined where it has, as it is a granular map or list. */
function fieldsAtOnce(type: ApplyType, value: JsonValue): FieldSet | undefined {
  const form = formOf(type, value);
  if (form === "map" && !type.map?.atomic) return isJsonObject(value) ? undefined : emptySet;
  if (form === "list" && !type.list?.atomic) return Array.isArray(value) ? undefined : emptySet;
  return leaf;
}

// Not a generator itself: each one has a price, and a map or a list needs only one.
function fieldsInside(type: ApplyType, value: JsonValue, notes: FieldSetNotes | undefined): Work<FieldSet> {
  return Array.isArray(value)
    ? itemsSet(type.list as ListType, value, notes)
    : entriesSet(type.map as MapType, value as JsonObject, notes);
}

function* entriesSet(map: MapType, value: JsonObject, notes: FieldSetNotes | undefined): Work<FieldSet> {
  const fields = new Map<string, FieldSet>();
  for (const key of Object.keys(value)) {
    if (isPartDone()) yield;
    const child = value[key] ?? null;
    const declared = map.field(key);
    const type = declared?.type ?? map.element;
    if (!type) continue;
    let node = fieldsAtOnce(type, child) ?? (yield* fieldsInside(type, child, notes));
    if (!declared) node = asMember(node);
    else if (!node.member && isNullOrEmptyMap(child)) {
      if (notes) notes.ownsEmptyContainer = true;
      node = asMember(node);
    }
    if (node !== emptySet) fields.set(key, node);
  }
  return fieldSetNode(false, fields, undefined);
}

function isNullOrEmptyMap(value: JsonValue): boolean {
  if (value === null) return true;
  if (!isJsonObject(value)) return false;
  for (const _key in value) return false;
  return true;
}

// Of duplicate items only the item is owned, not its content: it would be ambiguous.
function* itemsSet(list: ListType, values: JsonArray, notes: FieldSetNotes | undefined): Work<FieldSet> {
  const items = new Map<string, FieldSet>();
  for (const value of values) {
    if (isPartDone()) yield;
    const name = itemName(list, value);
    if (name === undefined) continue;
    items.set(name, items.has(name) ? leaf : asMember(yield* findingFields(list.item, value, notes)));
  }
  return fieldSetNode(false, undefined, items);
}

/**
 * The set with every declared field on the way to a member made a member too. Structs are never owned by appliers, yet
 * pruning has to be able to take them away.
 */
export function withNamedFields(type: ApplyType | undefined, set: FieldSet): FieldSet {
  const fields = mapChildren(set.fields, (child, name) => {
    const declared = type?.map?.field(name);
    const below = withNamedFields(declared?.type ?? type?.map?.element, child);
    return declared && hasChildren(below) ? asMember(below) : below;
  });
  const items = mapChildren(set.items, (child, key) =>
    withNamedFields(key.startsWith("k:") ? type?.list?.item : undefined, child),
  );
  return withChildren(set, fields, items);
}

/**
 * The set after its schema changed: what used to be granular and is atomic now is owned as a whole. (What used to be
 * atomic and is granular now stays owned at its root, as in the reference.)
 */
export function reconcileWithType(type: ApplyType, set: FieldSet): FieldSet {
  if (reconciled.get(set) === type) return set;
  const result = reconcile(type, set);
  reconciled.set(result, type);
  return result;
}

// Schemas change rarely; a set that fits its type is not looked through again.
const reconciled = new WeakMap<FieldSet, ApplyType>();

function reconcile(type: ApplyType, node: FieldSet): FieldSet {
  const owned = node.member && !hasChildren(node);
  if (type.map) return reconcileMap(type.map, node, owned);
  if (type.scalar || !type.list) return node;
  return reconcileList(type.list, node, owned);
}

function reconcileMap(map: MapType, node: FieldSet, owned: boolean): FieldSet {
  if (map.freeForm) return node;
  if (map.atomic) return owned || !hasChildren(node) ? node : leaf;
  const fields = mapChildren(node.fields, (child, name) => {
    const type = typeOfKey(map, name);
    return type ? reconcile(type, child) : child;
  });
  return withChildren(node, fields, node.items);
}

function reconcileList(list: ListType, node: FieldSet, owned: boolean): FieldSet {
  if (list.atomic) return owned ? node : leaf;
  const items = mapChildren(node.items, (child) => reconcile(list.item, child));
  return withChildren(node, node.fields, items);
}

function mapChildren(
  children: FieldSetChildren,
  change: (child: FieldSet, name: string) => FieldSet,
): FieldSetChildren {
  if (!children) return children;
  let out: Map<string, FieldSet> | undefined;
  for (const [name, child] of children) {
    const changed = change(child, name);
    if (changed === child) continue;
    out ??= new Map(children);
    out.set(name, changed);
  }
  return out ?? children;
}

function withChildren(node: FieldSet, fields: FieldSetChildren, items: FieldSetChildren): FieldSet {
  if (fields === node.fields && items === node.items) return node;
  return fieldSetNode(node.member, fields, items);
}
