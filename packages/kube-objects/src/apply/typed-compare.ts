// SPDX-License-Identifier: Apache-2.0
// Which fields differ between two values of one type.
import { jsonEqual } from "../json/json-equal.ts";
import { isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";
import {
  type ApplyType,
  type Form,
  formOf,
  formsDiffer,
  type ListType,
  type MapType,
  typeOfKey,
} from "./apply-type.ts";
import { emptySet, type FieldSet, fieldSetNode, isEmptySet, leaf } from "./field-set.ts";
import { recursiveDifference, union } from "./field-set-algebra.ts";
import { itemName } from "./list-item.ts";

/** The fields only the new value has, those only the old one has, and those that differ. No field is in two of them. */
export interface Comparison {
  readonly added: FieldSet;
  readonly removed: FieldSet;
  readonly modified: FieldSet;
}

/** The comparison of equal values. */
export const same: Comparison = Object.freeze({ added: emptySet, removed: emptySet, modified: emptySet });

const modifiedHere: Comparison = Object.freeze({ added: emptySet, removed: emptySet, modified: leaf });

/** Compares two values of a type. Containers that come or go are members themselves, together with all in them. */
export function compareTyped(type: ApplyType, before: JsonValue, after: JsonValue): Comparison {
  if (before === after) return same;
  const form = formOf(type, after);
  const result = compareAs(type, form, { before, after });
  if (!formsDiffer(type, before, after)) return result;
  // A value that changed from a map to a scalar, say, is compared once in each form.
  return merge(compareAs(type, formOf(type, before), { before, after }), result);
}

function compareAs(
  type: ApplyType,
  form: Form | undefined,
  { before, after }: { readonly before: JsonValue; readonly after: JsonValue },
): Comparison {
  if (form === "map" && type.map) return compareMaps(type.map, before, after);
  if (form === "list" && type.list) return compareLists(type.list, before, after);
  return compareLeaves(before, after);
}

const compareLeaves = (before: JsonValue, after: JsonValue): Comparison =>
  jsonEqual(before, after) ? same : modifiedHere;

/** The comparison without anything at or below the excluded paths. */
export function excludeFields(comparison: Comparison, excluded: FieldSet | undefined): Comparison {
  if (!excluded || isEmptySet(excluded) || comparison === same) return comparison;
  return {
    added: recursiveDifference(comparison.added, excluded),
    removed: recursiveDifference(comparison.removed, excluded),
    modified: recursiveDifference(comparison.modified, excluded),
  };
}

function merge(a: Comparison, b: Comparison): Comparison {
  if (a === same) return b;
  if (b === same) return a;
  return {
    added: union(a.added, b.added),
    removed: union(a.removed, b.removed),
    modified: union(a.modified, b.modified),
  };
}

// Gathers the comparisons of a node's children under their names.
interface Gathering {
  added?: Children;
  removed?: Children;
  modified?: Children;
}

type Children = Map<string, FieldSet> | undefined;

/** Adds the set under a name; makes the map when it is the first. */
function put(into: Children, name: string, set: FieldSet): Children {
  if (isEmptySet(set)) return into;
  const before = into?.get(name);
  return (into ?? new Map<string, FieldSet>()).set(name, before ? union(before, set) : set);
}

function putAll(into: Gathering, name: string, comparison: Comparison): void {
  if (comparison === same) return;
  into.added = put(into.added, name, comparison.added);
  into.removed = put(into.removed, name, comparison.removed);
  into.modified = put(into.modified, name, comparison.modified);
}

function finish(from: Gathering, children: "fields" | "items"): Comparison {
  if (!from.added && !from.removed && !from.modified) return same;
  const node = (map: Map<string, FieldSet> | undefined): FieldSet =>
    children === "fields" ? fieldSetNode(false, map, undefined) : fieldSetNode(false, undefined, map);
  return { added: node(from.added), removed: node(from.removed), modified: node(from.modified) };
}

const emptyObject: JsonObject = Object.freeze({});
const asObject = (value: JsonValue): JsonObject => (isJsonObject(value) ? value : emptyObject);

function isEmpty(object: JsonObject): boolean {
  for (const _key in object) return false;
  return true;
}

function compareMaps(map: MapType, before: JsonValue, after: JsonValue): Comparison {
  const old = asObject(before);
  const now = asObject(after);
  if (map.atomic || (isEmpty(old) && isEmpty(now))) return compareLeaves(before, after);
  const result: Gathering = {};
  for (const key of Object.keys(now)) {
    const type = typeOfKey(map, key);
    if (!type) continue;
    const value = now[key] ?? null;
    if (Object.hasOwn(old, key)) putAll(result, key, compareTyped(type, old[key] ?? null, value));
    else result.added = put(result.added, key, presence(type, value));
  }
  for (const key of Object.keys(old)) {
    if (Object.hasOwn(now, key)) continue;
    const type = typeOfKey(map, key);
    if (type) result.removed = put(result.removed, key, presence(type, old[key] ?? null));
  }
  return finish(result, "fields");
}

const asArray = (value: JsonValue): JsonArray => (Array.isArray(value) ? value : []);

function compareLists(list: ListType, before: JsonValue, after: JsonValue): Comparison {
  const old = asArray(before);
  const now = asArray(after);
  if (list.atomic || (old.length === 0 && now.length === 0)) return compareLeaves(before, after);
  const oldItems = groupItems(list, old);
  const newItems = groupItems(list, now);
  const result: Gathering = {};
  for (const [name, values] of oldItems)
    compareItem(list, result, { name, old: values, now: newItems.get(name) ?? [] });
  for (const [name, values] of newItems) {
    if (!oldItems.has(name)) compareItem(list, result, { name, old: [], now: values });
  }
  return finish(result, "items");
}

function groupItems(list: ListType, values: JsonArray): Map<string, JsonValue[]> {
  const groups = new Map<string, JsonValue[]>();
  for (const value of values) {
    const name = itemName(list, value);
    if (name === undefined) continue;
    const group = groups.get(name);
    if (group) group.push(value);
    else groups.set(name, [value]);
  }
  return groups;
}

interface Group {
  readonly name: string;
  readonly old: readonly JsonValue[];
  readonly now: readonly JsonValue[];
}

// Items that come twice are one leaf: they appear, change and disappear together.
function compareItem(list: ListType, result: Gathering, { name, old, now }: Group): void {
  const [before] = old;
  const [after] = now;
  if (old.length > 1 && now.length > 1) {
    if (!jsonEqual(old, now)) result.modified = put(result.modified, name, leaf);
  } else if (old.length > 1) {
    if (after !== undefined) result.added = put(result.added, name, presence(list.item, after));
    result.removed = put(result.removed, name, leaf);
  } else if (now.length > 1) {
    if (before !== undefined) result.removed = put(result.removed, name, presence(list.item, before));
    result.added = put(result.added, name, leaf);
  } else if (before === undefined) {
    if (after !== undefined) result.added = put(result.added, name, presence(list.item, after));
  } else if (after === undefined) {
    result.removed = put(result.removed, name, presence(list.item, before));
  } else {
    putAll(result, name, compareTyped(list.item, before, after));
  }
}

/** The paths of a value that only one side has: itself, and everything granular below it. */
function presence(type: ApplyType, value: JsonValue): FieldSet {
  const form = formOf(type, value);
  if (form === "map" && type.map && !type.map.atomic && isJsonObject(value)) return mapPresence(type.map, value);
  if (form === "list" && type.list && !type.list.atomic && Array.isArray(value)) return listPresence(type.list, value);
  return leaf;
}

function mapPresence(map: MapType, value: JsonObject): FieldSet {
  const fields = new Map<string, FieldSet>();
  for (const key of Object.keys(value)) {
    const type = typeOfKey(map, key);
    if (type) fields.set(key, presence(type, value[key] ?? null));
  }
  return fieldSetNode(true, fields, undefined);
}

function listPresence(list: ListType, values: JsonArray): FieldSet {
  const items = new Map<string, FieldSet>();
  for (const value of values) {
    const name = itemName(list, value);
    // Items that come twice are one leaf.
    if (name !== undefined) items.set(name, items.has(name) ? leaf : presence(list.item, value));
  }
  return fieldSetNode(true, undefined, items);
}
