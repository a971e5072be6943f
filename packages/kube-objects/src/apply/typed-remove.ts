// SPDX-License-Identifier: Apache-2.0
// Taking fields out of a value, or taking only those.
import { finish, isPartDone, type Work } from "@purlin/base";
import { isJsonObject, type JsonArray, type JsonObject, type JsonValue, setOwnValue } from "../json/json-value.ts";
import { type ApplyType, formOf, type ListType, type MapType, typeOfKey } from "./apply-type.ts";
import {
  type FieldSet,
  type FieldSetChildren,
  fieldChild,
  fieldSetNode,
  hasChildren,
  isEmptySet,
  itemChild,
} from "./field-set.ts";
import { decodeFieldsV1 } from "./fields-v1.ts";
import { itemName } from "./item-key.ts";
import { managedFieldsOf } from "./managers.ts";

/** The value without the fields and items of the set. A container left without anything becomes null. */
export function removeFields(type: ApplyType, value: JsonValue, set: FieldSet): JsonValue {
  return finish(removingFields(type, value, set));
}

/** {@link removeFields} in parts. */
export function* removingFields(type: ApplyType, value: JsonValue, set: FieldSet): Work<JsonValue> {
  return isEmptySet(set) ? value : yield* removal.walk(type, value, set);
}

/** Only the fields and items of the set, of the value. */
export function extractFields(type: ApplyType, value: JsonValue, set: FieldSet): JsonValue {
  return finish(extraction.walk(type, value, set));
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

  *walk(type: ApplyType, value: JsonValue, set: FieldSet): Work<JsonValue> {
    const form = formOf(type, value);
    if (form === "map" && type.map) return yield* this.#map(type.map, value, set);
    if (form === "list" && type.list) return yield* this.#list(type.list, value, set);
    return value;
  }

  *#map(map: MapType, value: JsonValue, set: FieldSet): Work<JsonValue> {
    if (!isJsonObject(value)) return null;
    const keys = Object.keys(value);
    // An atomic value is taken as a whole or not at all; the empty one is kept only where the difference to null matters.
    if (map.atomic || keys.length === 0) return this.#extracts ? value : null;
    const out: Record<string, JsonValue> = {};
    let kept = 0;
    for (const key of keys) {
      if (isPartDone()) yield;
      const result = yield* this.#entry(map, key, { value: value[key] ?? null, set });
      if (result === undefined) continue;
      setOwnValue(out, key, result);
      kept++;
    }
    return kept > 0 ? out : null;
  }

  *#entry(map: MapType, key: string, { value, set }: Entry): Work<JsonValue | undefined> {
    const type = typeOfKey(map, key);
    const node = fieldChild(set, key);
    if (!node) return this.#extracts ? undefined : value;
    // For an extracted member the reference continues with the parent's set; kept, as results depend on it.
    if (node.member) return this.#extracts && type ? yield* this.walk(type, value, set) : undefined;
    return type ? yield* this.walk(type, value, node) : value;
  }

  *#list(list: ListType, value: JsonValue, set: FieldSet): Work<JsonValue> {
    if (!Array.isArray(value)) return null;
    if (list.atomic || value.length === 0) return this.#extracts ? value : null;
    const out = this.#extracts
      ? yield* this.#extractItems(list, value, set)
      : yield* this.#removeItems(list, value, set);
    return out.length > 0 ? out : null;
  }

  *#removeItems(list: ListType, values: JsonArray, set: FieldSet): Work<JsonValue[]> {
    const out: JsonValue[] = [];
    for (const value of values) {
      if (isPartDone()) yield;
      const node = nodeOf(list, value, set);
      if (node?.member) continue;
      out.push(node && hasChildren(node) ? yield* this.walk(list.item, value, node) : value);
    }
    return out;
  }

  *#extractItems(list: ListType, values: JsonArray, set: FieldSet): Work<JsonValue[]> {
    const out: JsonValue[] = [];
    for (const value of values) {
      if (isPartDone()) yield;
      const node = nodeOf(list, value, set);
      if (node) out.push(hasChildren(node) ? yield* this.walk(list.item, value, node) : value);
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

/** Whose fields to extract. */
interface ExtractOptions {
  readonly manager: string;
  readonly subresource?: string;
}

/**
 * What a manager applied to an object: the fields it owns by Apply, with the values they have now. Undefined when it
 * owns none. The result is a configuration to change and apply again.
 */
export function extractApplied(type: ApplyType, object: JsonObject, options: ExtractOptions): JsonObject | undefined {
  const { manager, subresource = "" } = options;
  const entry = managedFieldsOf(object)?.find(
    (one) => one.operation === "Apply" && one.manager === manager && (one.subresource ?? "") === subresource,
  );
  if (!entry) return undefined;
  const extracted = extractFields(type, object, leavesOf(decodeFieldsV1(entry.fieldsV1 ?? {})));
  const { apiVersion, kind } = object;
  return {
    ...(isJsonObject(extracted) ? extracted : {}),
    ...(apiVersion ? { apiVersion } : {}),
    ...(kind ? { kind } : {}),
  };
}

/** Only the paths with nothing below them. */
export function leavesOf(set: FieldSet): FieldSet {
  const children = (of: FieldSetChildren): FieldSetChildren => {
    if (!of) return undefined;
    const kept = [...of].map(([name, child]) => [name, leavesOf(child)] as const);
    return new Map(kept.filter(([, child]) => !isEmptySet(child)));
  };
  return hasChildren(set) ? fieldSetNode(false, children(set.fields), children(set.items)) : set;
}
