// SPDX-License-Identifier: Apache-2.0
// Which fields differ between two values of one type.
import { finish as finishWork, isPartDone, type Work } from "@purlin/base";
import { isJsonObject, type JsonArray, type JsonObject, type JsonValue, jsonEqual } from "../json/json-value.ts";
import {
  type ApplyType,
  type Form,
  formOf,
  formsDiffer,
  type ListType,
  type MapType,
  typeOfKey,
} from "./apply-type.ts";
import { emptySet, type FieldSet, fieldSetNode, isEmptySet, leaf, recursiveDifference, union } from "./field-set.ts";
import { itemName } from "./item-key.ts";

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
  return finishWork(comparingTyped(type, before, after));
}

/** {@link compareTyped} in parts. */
export function* comparingTyped(type: ApplyType, before: JsonValue, after: JsonValue): Work<Comparison> {
  return compareAtOnce(type, before, after) ?? (yield* compareInside(type, before, after));
}

/** The comparison where nothing inside the values has to be looked at; undefined where it has. */
function compareAtOnce(type: ApplyType, before: JsonValue, after: JsonValue): Comparison | undefined {
  if (before === after) return same;
  if (formsDiffer(type, before, after)) return undefined;
  const form = formOf(type, after);
  const isGranular = (form === "map" && !type.map?.atomic) || (form === "list" && !type.list?.atomic);
  return isGranular ? undefined : compareLeaves(before, after);
}

// Not a generator itself: each one has a price, and a map or a list needs only one.
function compareInside(type: ApplyType, before: JsonValue, after: JsonValue): Work<Comparison> {
  if (formsDiffer(type, before, after)) return compareForms(type, before, after);
  return formOf(type, after) === "map"
    ? compareMaps(type.map as MapType, before, after)
    : compareLists(type.list as ListType, before, after);
}

// A value that changed from a map to a scalar, say, is compared once in each form.
function* compareForms(type: ApplyType, before: JsonValue, after: JsonValue): Work<Comparison> {
  const now = yield* compareAs(type, formOf(type, after), { before, after });
  return merge(yield* compareAs(type, formOf(type, before), { before, after }), now);
}

function* compareAs(
  type: ApplyType,
  form: Form | undefined,
  { before, after }: { readonly before: JsonValue; readonly after: JsonValue },
): Work<Comparison> {
  if (form === "map" && type.map) return yield* compareMaps(type.map, before, after);
  if (form === "list" && type.list) return yield* compareLists(type.list, before, after);
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

function* compareMaps(map: MapType, before: JsonValue, after: JsonValue): Work<Comparison> {
  const old = asObject(before);
  const now = asObject(after);
  // Asking a large map for its keys takes long: each is asked once.
  const keys = Object.keys(now);
  const oldKeys = Object.keys(old);
  if (map.atomic || (oldKeys.length === 0 && keys.length === 0)) return compareLeaves(before, after);
  const result: Gathering = {};
  for (const key of keys) {
    if (isPartDone()) yield;
    const type = typeOfKey(map, key);
    if (!type) continue;
    const value = now[key] ?? null;
    if (!Object.hasOwn(old, key))
      result.added = put(result.added, key, presenceAtOnce(type, value) ?? (yield* presenceInside(type, value)));
    else if (old[key] !== value) {
      const was = old[key] ?? null;
      putAll(result, key, compareAtOnce(type, was, value) ?? (yield* compareInside(type, was, value)));
    }
  }
  for (const key of oldKeys) {
    if (isPartDone()) yield;
    if (Object.hasOwn(now, key)) continue;
    const type = typeOfKey(map, key);
    if (!type) continue;
    const value = old[key] ?? null;
    result.removed = put(result.removed, key, presenceAtOnce(type, value) ?? (yield* presenceInside(type, value)));
  }
  return finish(result, "fields");
}

const asArray = (value: JsonValue): JsonArray => (Array.isArray(value) ? value : []);

function* compareLists(list: ListType, before: JsonValue, after: JsonValue): Work<Comparison> {
  const old = asArray(before);
  const now = asArray(after);
  if (list.atomic || (old.length === 0 && now.length === 0)) return compareLeaves(before, after);
  const oldItems = yield* groupItems(list, old);
  const newItems = yield* groupItems(list, now);
  const result: Gathering = {};
  for (const [name, values] of oldItems) {
    if (isPartDone()) yield;
    yield* compareItem(list, result, { name, old: values, now: newItems.get(name) ?? [] });
  }
  for (const [name, values] of newItems) {
    if (isPartDone()) yield;
    if (!oldItems.has(name)) yield* compareItem(list, result, { name, old: [], now: values });
  }
  return finish(result, "items");
}

function* groupItems(list: ListType, values: JsonArray): Work<Map<string, JsonValue[]>> {
  const groups = new Map<string, JsonValue[]>();
  for (const value of values) {
    if (isPartDone()) yield;
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
function* compareItem(list: ListType, result: Gathering, { name, old, now }: Group): Work<void> {
  const [before] = old;
  const [after] = now;
  if (old.length > 1 && now.length > 1) {
    if (!jsonEqual(old, now)) result.modified = put(result.modified, name, leaf);
  } else if (old.length > 1) {
    if (after !== undefined) result.added = put(result.added, name, yield* presence(list.item, after));
    result.removed = put(result.removed, name, leaf);
  } else if (now.length > 1) {
    if (before !== undefined) result.removed = put(result.removed, name, yield* presence(list.item, before));
    result.added = put(result.added, name, leaf);
  } else if (before === undefined) {
    if (after !== undefined) result.added = put(result.added, name, yield* presence(list.item, after));
  } else if (after === undefined) {
    result.removed = put(result.removed, name, yield* presence(list.item, before));
  } else {
    putAll(result, name, yield* comparingTyped(list.item, before, after));
  }
}

/** The paths of a value that only one side has: itself, and everything granular below it. */
function* presence(type: ApplyType, value: JsonValue): Work<FieldSet> {
  return presenceAtOnce(type, value) ?? (yield* presenceInside(type, value));
}

/** The same for a value that is a leaf; undefined for others. */
function presenceAtOnce(type: ApplyType, value: JsonValue): FieldSet | undefined {
  if (isJsonObject(value)) return type.map && !type.map.atomic ? undefined : leaf;
  return Array.isArray(value) && type.list && !type.list.atomic ? undefined : leaf;
}

function presenceInside(type: ApplyType, value: JsonValue): Work<FieldSet> {
  return Array.isArray(value)
    ? listPresence(type.list as ListType, value)
    : mapPresence(type.map as MapType, value as JsonObject);
}

function* mapPresence(map: MapType, value: JsonObject): Work<FieldSet> {
  const fields = new Map<string, FieldSet>();
  for (const key of Object.keys(value)) {
    if (isPartDone()) yield;
    const type = typeOfKey(map, key);
    if (!type) continue;
    const child = value[key] ?? null;
    fields.set(key, presenceAtOnce(type, child) ?? (yield* presenceInside(type, child)));
  }
  return fieldSetNode(true, fields, undefined);
}

function* listPresence(list: ListType, values: JsonArray): Work<FieldSet> {
  const items = new Map<string, FieldSet>();
  for (const value of values) {
    if (isPartDone()) yield;
    const name = itemName(list, value);
    // Items that come twice are one leaf.
    if (name !== undefined) items.set(name, items.has(name) ? leaf : yield* presence(list.item, value));
  }
  return fieldSetNode(true, undefined, items);
}
