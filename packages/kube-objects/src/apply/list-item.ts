// SPDX-License-Identifier: Apache-2.0
// The names of list items, see item-key.ts, from the items themselves.
import { goQuote } from "../json/go-text.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { ownValue } from "../json/own-value.ts";
import type { ListType } from "./apply-type.ts";
import { keyedItem, singleKeyItem, valueItem } from "./item-key.ts";

/** The name of an item of a list that is not atomic, or undefined when it cannot have one: see {@link itemProblem}. */
export function itemName(list: ListType, item: JsonValue): string | undefined {
  if (list.keys.length > 0) return isJsonObject(item) ? keyedName(list, item) : undefined;
  return typeof item === "object" ? undefined : valueItem(item);
}

function keyedName(list: ListType, item: JsonObject): string | undefined {
  const [first] = list.sortedKeys;
  if (first && list.keys.length === 1) {
    const value = ownValue(item, first.name) ?? keyDefault(list, item, first.name);
    return value === undefined ? undefined : singleKeyItem(first.prefix, value);
  }
  const prefixes: string[] = [];
  const values: JsonValue[] = [];
  for (const { name, prefix } of list.sortedKeys) {
    // A key field left out takes its default, which is how `protocol` need not be said to mean TCP.
    const value = ownValue(item, name) ?? keyDefault(list, item, name);
    if (value === undefined) continue;
    prefixes.push(prefix);
    values.push(value);
  }
  return prefixes.length === 0 ? undefined : keyedItem(prefixes, values);
}

function keyDefault(list: ListType, item: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(item, name) ? null : (list.item.map?.field(name)?.default ?? undefined);
}

/** Why an item has no name, in the reference's words. */
export function itemProblem(list: ListType, item: JsonValue): string {
  if (list.keys.length > 0) return keyedProblem(list, item);
  if (item === null) return "associative list without keys has an element that's an explicit null";
  if (Array.isArray(item)) return "not supported: associative list with lists as elements";
  return "associative list without keys has an element that's a map type";
}

function keyedProblem(list: ListType, item: JsonValue): string {
  if (item === null) return "associative list with keys may not have a null element";
  if (!isJsonObject(item)) return "associative list with keys may not have non-map elements";
  const keys = `[${list.keys.map(goQuote).join(" ")}]`;
  return `associative list with keys has an element that omits all key fields ${keys} (and doesn't have default values for any key fields)`;
}
