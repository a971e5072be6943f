// SPDX-License-Identifier: Apache-2.0
// Taking fields out of a value, or taking only those.
import { isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { setOwnValue } from "../json/own-value.ts";
import { type ApplyType, formOf, type ListType, type MapType, typeOfKey } from "./apply-type.ts";
import { type FieldSet, fieldChild, hasChildren, isEmptySet, itemChild } from "./field-set.ts";
import { itemName } from "./list-item.ts";

/** The value without the fields and items of the set. A container left without anything becomes null. */
export function removeFields(type: ApplyType, value: JsonValue, set: FieldSet): JsonValue {
  return isEmptySet(set) ? value : walk(type, value, set, false);
}

/** Only the fields and items of the set, of the value. */
export function extractFields(type: ApplyType, value: JsonValue, set: FieldSet): JsonValue {
  return walk(type, value, set, true);
}

function walk(type: ApplyType, value: JsonValue, set: FieldSet, extract: boolean): JsonValue {
  const form = formOf(type, value);
  if (form === "map" && type.map) return walkMap(type.map, value, set, extract);
  if (form === "list" && type.list) return walkList(type.list, value, set, extract);
  return value;
}

function walkMap(map: MapType, value: JsonValue, set: FieldSet, extract: boolean): JsonValue {
  if (!isJsonObject(value)) return null;
  const keys = Object.keys(value);
  // An atomic value is taken as a whole or not at all; the empty one is kept only where the difference to null matters.
  if (map.atomic || keys.length === 0) return extract ? value : null;
  const out: Record<string, JsonValue> = {};
  let kept = 0;
  for (const key of keys) {
    const result = walkEntry(map, value, { key, set, extract });
    if (result === undefined) continue;
    setOwnValue(out, key, result);
    kept++;
  }
  return kept > 0 ? out : null;
}

interface Entry {
  readonly key: string;
  readonly set: FieldSet;
  readonly extract: boolean;
}

function walkEntry(map: MapType, object: JsonObject, { key, set, extract }: Entry): JsonValue | undefined {
  const value = object[key] ?? null;
  const type = typeOfKey(map, key);
  const node = fieldChild(set, key);
  if (!node) return extract ? undefined : value;
  // For an extracted member the reference goes on with the parent's set; kept, as results depend on it.
  if (node.member) return extract && type ? walk(type, value, set, true) : undefined;
  return type ? walk(type, value, node, extract) : value;
}

function walkList(list: ListType, value: JsonValue, set: FieldSet, extract: boolean): JsonValue {
  if (!Array.isArray(value)) return null;
  if (list.atomic || value.length === 0) return extract ? value : null;
  const out = extract ? extractItems(list, value, set) : removeItems(list, value, set);
  return out.length > 0 ? out : null;
}

function removeItems(list: ListType, values: JsonArray, set: FieldSet): JsonValue[] {
  const out: JsonValue[] = [];
  for (const value of values) {
    const node = nodeOf(list, value, set);
    if (node?.member) continue;
    out.push(node && hasChildren(node) ? walk(list.item, value, node, false) : value);
  }
  return out;
}

function extractItems(list: ListType, values: JsonArray, set: FieldSet): JsonValue[] {
  const out: JsonValue[] = [];
  for (const value of values) {
    const node = nodeOf(list, value, set);
    if (node) out.push(hasChildren(node) ? walk(list.item, value, node, true) : value);
  }
  return out;
}

function nodeOf(list: ListType, value: JsonValue, set: FieldSet): FieldSet | undefined {
  const name = itemName(list, value);
  return name === undefined ? undefined : itemChild(set, name);
}
