// SPDX-License-Identifier: Apache-2.0
// The fields a value mentions: what an applier owns after applying it.
import { isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { type ApplyType, formOf, type ListType, type MapType } from "./apply-type.ts";
import { asMember, emptySet, type FieldSet, fieldSetNode, leaf } from "./field-set.ts";
import { itemName } from "./list-item.ts";

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
  const form = formOf(type, value);
  if (form === "map" && type.map) return mapSet(type.map, value, notes);
  if (form === "list" && type.list) return listSet(type.list, value, notes);
  return leaf;
}

function mapSet(map: MapType, value: JsonValue, notes: FieldSetNotes | undefined): FieldSet {
  if (map.atomic) return leaf;
  return isJsonObject(value) ? entriesSet(map, value, notes) : emptySet;
}

function entriesSet(map: MapType, value: JsonObject, notes: FieldSetNotes | undefined): FieldSet {
  const fields = new Map<string, FieldSet>();
  for (const key of Object.keys(value)) {
    const child = value[key] ?? null;
    const declared = map.field(key);
    const type = declared?.type ?? map.element;
    if (!type) continue;
    let node = fieldSetOf(type, child, notes);
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

function listSet(list: ListType, value: JsonValue, notes: FieldSetNotes | undefined): FieldSet {
  if (list.atomic) return leaf;
  return Array.isArray(value) ? itemsSet(list, value, notes) : emptySet;
}

// Of duplicate items only the item is owned, not its content: it would be ambiguous.
function itemsSet(list: ListType, values: JsonArray, notes: FieldSetNotes | undefined): FieldSet {
  const items = new Map<string, FieldSet>();
  for (const value of values) {
    const name = itemName(list, value);
    if (name === undefined) continue;
    items.set(name, items.has(name) ? leaf : asMember(fieldSetOf(list.item, value, notes)));
  }
  return fieldSetNode(false, undefined, items);
}
