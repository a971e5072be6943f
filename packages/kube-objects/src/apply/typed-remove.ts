// SPDX-License-Identifier: Apache-2.0
// Taking fields out of a value, or taking only those.
import { isJsonObject, type JsonArray, type JsonValue } from "../json/json-value.ts";
import { setOwnValue } from "../json/own-value.ts";
import { type ApplyType, formOf, type ListType, type MapType, typeOfKey } from "./apply-type.ts";
import { type FieldSet, fieldChild, hasChildren, isEmptySet, itemChild } from "./field-set.ts";
import { itemName } from "./list-item.ts";

/** The value without the fields and items of the set. A container left without anything becomes null. */
export function removeFields(type: ApplyType, value: JsonValue, set: FieldSet): JsonValue {
  return isEmptySet(set) ? value : removal.walk(type, value, set);
}

/** Only the fields and items of the set, of the value. */
export function extractFields(type: ApplyType, value: JsonValue, set: FieldSet): JsonValue {
  return extraction.walk(type, value, set);
}

/** A value inside an object, and the set that the object is walked with. */
interface Entry {
  readonly value: JsonValue;
  readonly set: FieldSet;
}

class FieldWalk {
  readonly #extracts: boolean;

  constructor(extracts: boolean) {
    this.#extracts = extracts;
  }

  walk(type: ApplyType, value: JsonValue, set: FieldSet): JsonValue {
    const form = formOf(type, value);
    if (form === "map" && type.map) return this.#map(type.map, value, set);
    if (form === "list" && type.list) return this.#list(type.list, value, set);
    return value;
  }

  #map(map: MapType, value: JsonValue, set: FieldSet): JsonValue {
    if (!isJsonObject(value)) return null;
    const keys = Object.keys(value);
    // An atomic value is taken as a whole or not at all; the empty one is kept only where the difference to null matters.
    if (map.atomic || keys.length === 0) return this.#extracts ? value : null;
    const out: Record<string, JsonValue> = {};
    let kept = 0;
    for (const key of keys) {
      const result = this.#entry(map, key, { value: value[key] ?? null, set });
      if (result === undefined) continue;
      setOwnValue(out, key, result);
      kept++;
    }
    return kept > 0 ? out : null;
  }

  #entry(map: MapType, key: string, { value, set }: Entry): JsonValue | undefined {
    const type = typeOfKey(map, key);
    const node = fieldChild(set, key);
    if (!node) return this.#extracts ? undefined : value;
    // For an extracted member the reference goes on with the parent's set; kept, as results depend on it.
    if (node.member) return this.#extracts && type ? this.walk(type, value, set) : undefined;
    return type ? this.walk(type, value, node) : value;
  }

  #list(list: ListType, value: JsonValue, set: FieldSet): JsonValue {
    if (!Array.isArray(value)) return null;
    if (list.atomic || value.length === 0) return this.#extracts ? value : null;
    const out = this.#extracts ? this.#extractItems(list, value, set) : this.#removeItems(list, value, set);
    return out.length > 0 ? out : null;
  }

  #removeItems(list: ListType, values: JsonArray, set: FieldSet): JsonValue[] {
    const out: JsonValue[] = [];
    for (const value of values) {
      const node = nodeOf(list, value, set);
      if (node?.member) continue;
      out.push(node && hasChildren(node) ? this.walk(list.item, value, node) : value);
    }
    return out;
  }

  #extractItems(list: ListType, values: JsonArray, set: FieldSet): JsonValue[] {
    const out: JsonValue[] = [];
    for (const value of values) {
      const node = nodeOf(list, value, set);
      if (node) out.push(hasChildren(node) ? this.walk(list.item, value, node) : value);
    }
    return out;
  }
}

const removal: FieldWalk = new FieldWalk(false);
const extraction: FieldWalk = new FieldWalk(true);

function nodeOf(list: ListType, value: JsonValue, set: FieldSet): FieldSet | undefined {
  const name = itemName(list, value);
  return name === undefined ? undefined : itemChild(set, name);
}
