// SPDX-License-Identifier: Apache-2.0
// How a field path names an item of a list: by its key fields, `k:{"port":80,"protocol":"TCP"}`, by its value, `v:"x"`,
// or by its position, `i:0`. The text is canonical, so equal items have equal texts.
// Names come from their text, or from the items themselves.
import { finish, isPartDone, sorting, type Work } from "@purlin/base";
import { goJson, goNumber, goQuote } from "../json/go-text.ts";
import { parseJson } from "../json/json-text.ts";
import {
  compareUtf8,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  ownValue,
  sortedKeys,
} from "../json/json-value.ts";
import type { ListType } from "./apply-type.ts";

const compareNumbers = (a: number | bigint, b: number | bigint): number => (a < b ? -1 : a > b ? 1 : 0);

/** The text a key field contributes to an item's name in front of its value. */
export function keyFieldPrefix(name: string): string {
  return `${JSON.stringify(name)}:`;
}

/** The name of the item whose key fields have these values. `prefixes` come from {@link keyFieldPrefix}, names sorted. */
function keyedItem(prefixes: readonly string[], values: readonly JsonValue[]): string {
  let text = "k:{";
  for (let i = 0; i < prefixes.length; i++) {
    if (i > 0) text += ",";
    text += `${prefixes[i]}${itemJson(values[i] ?? null)}`;
  }
  return `${text}}`;
}

/** The name of the item of a set that has this value. */
function valueItem(value: JsonValue): string {
  return `v:${itemJson(value)}`;
}

// The reference writes item names with another JSON printer, whose exponents have two digits at least.
function itemJson(value: JsonValue): string {
  if (typeof value !== "number") return goJson(value);
  return Number.isInteger(value) ? goJson(value) : String(value).replace(/e-(\d)$/, "e-0$1");
}

/** The name of the item whose only key field has this value. */
function singleKeyItem(prefix: string, value: JsonValue): string {
  return `k:{${prefix}${itemJson(value)}}`;
}

type ItemName =
  | { readonly kind: "key"; readonly fields: JsonObject }
  | { readonly kind: "value"; readonly value: JsonValue }
  | { readonly kind: "index"; readonly index: number };

function parseItem(key: string): ItemName {
  const text = key.slice(2);
  if (key.startsWith("i:")) return { kind: "index", index: Number(text) };
  const value = parseJson(text);
  if (key.startsWith("k:") && isJsonObject(value)) return { kind: "key", fields: value };
  return { kind: "value", value };
}

/** An item as paths in messages show it: `[port=80,protocol="TCP"]`, `[="x"]`, `[0]`. */
export function printItem(key: string): string {
  const item = parseItem(key);
  switch (item.kind) {
    case "index":
      return `[${item.index}]`;
    case "value":
      return `[=${printScalar(item.value)}]`;
    case "key":
      return `[${sortedKeys(item.fields)
        .map((name) => `${name}=${printScalar(ownValue(item.fields, name) ?? null)}`)
        .join(",")}]`;
  }
}

function printScalar(value: JsonValue): string {
  if (typeof value === "string") return goQuote(value);
  if (typeof value === "number" || typeof value === "bigint") return goNumber(value);
  if (Array.isArray(value)) return `[${value.map(printScalar).join(",")}]`;
  if (!isJsonObject(value)) return String(value);
  return sortedKeys(value)
    .map((name) => `${name}=${printScalar(ownValue(value, name) ?? null)}`)
    .join("");
}

const ranks: Readonly<Record<ItemName["kind"], number>> = { key: 0, value: 1, index: 2 };

/** The item names in the order FieldsV1 lists them: keyed ones, values, positions, each in its own natural order. */
export function sortItemKeys(keys: Iterable<string>): string[] {
  return finish(sortingItemKeys(keys));
}

/** {@link sortItemKeys} in parts. */
export function* sortingItemKeys(keys: Iterable<string>): Work<string[]> {
  const parsed: { readonly key: string; readonly item: ItemName }[] = [];
  for (const key of keys) {
    if (isPartDone()) yield;
    parsed.push({ key, item: parseItem(key) });
  }
  const sorted = yield* sorting(parsed, (a, b) => compareItems(a.item, b.item));
  return sorted.map(({ key }) => key);
}

function compareItems(a: ItemName, b: ItemName): number {
  if (a.kind === "key" && b.kind === "key") return compareFields(a.fields, b.fields);
  if (a.kind === "value" && b.kind === "value") return compareValues(a.value, b.value);
  if (a.kind === "index" && b.kind === "index") return a.index - b.index;
  return ranks[a.kind] - ranks[b.kind];
}

function compareFields(a: JsonObject, b: JsonObject): number {
  const aNames = sortedKeys(a);
  const bNames = sortedKeys(b);
  for (let i = 0; i < Math.min(aNames.length, bNames.length); i++) {
    const aName = aNames[i] ?? "";
    const bName = bNames[i] ?? "";
    const order = compareUtf8(aName, bName) || compareValues(a[aName] ?? null, b[bName] ?? null);
    if (order !== 0) return order;
  }
  return aNames.length - bNames.length;
}

const canonicalSingle = /^(?:k:\{"[A-Za-z0-9_-]+":(?:"[A-Za-z0-9 ._/:-]*"|0|[1-9]\d{0,14})\}|v:"[A-Za-z0-9 ._/:-]*")$/;

/**
 * The canonical text of an item name from another writer. Undefined for an unknown form of name, which readers drop;
 * throws when the name is malformed.
 */
export function canonicalItem(key: string): string | undefined {
  if (canonicalSingle.test(key)) return key;
  const text = key.slice(2);
  switch (key.charAt(0)) {
    case "v":
      return valueItem(parseJson(text));
    case "k":
      return canonicalKeyed(parseJson(text), key);
    case "i":
      if (!/^[+-]?\d+$/.test(text)) throw new Error(`strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`);
      return `i:${Number(text)}`;
    default:
      return undefined;
  }
}

function canonicalKeyed(fields: JsonValue, key: string): string {
  if (!isJsonObject(fields)) throw new Error(`expected an object in ${goQuote(key)}`);
  const names = sortedKeys(fields);
  return keyedItem(
    names.map(keyFieldPrefix),
    names.map((name) => ownValue(fields, name) ?? null),
  );
}

// Numbers first, then strings, booleans, lists, maps, and null last.
function rank(value: JsonValue): number {
  switch (typeof value) {
    case "number":
    case "bigint":
      return 0;
    case "string":
      return 1;
    case "boolean":
      return 2;
    default:
      return value === null ? 5 : Array.isArray(value) ? 3 : 4;
  }
}

/** Orders any two JSON values as FieldsV1 orders the values of a set. */
export function compareValues(a: JsonValue, b: JsonValue): number {
  const difference = rank(a) - rank(b);
  if (difference !== 0) return difference;
  if (typeof a === "string") return compareUtf8(a, b as string);
  if (typeof a === "boolean") return Number(a) - Number(b);
  if (typeof a === "number" || typeof a === "bigint") return compareNumbers(a, b as number | bigint);
  if (Array.isArray(a)) return compareLists(a, b as JsonArray);
  return isJsonObject(a) ? compareMaps(a, b as JsonObject) : 0;
}

function compareLists(a: JsonArray, b: JsonArray): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const order = compareValues(a[i] ?? null, b[i] ?? null);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareMaps(a: JsonObject, b: JsonObject): number {
  const aKeys = sortedKeys(a);
  const bKeys = sortedKeys(b);
  for (let i = 0; i < Math.min(aKeys.length, bKeys.length); i++) {
    const aKey = aKeys[i] ?? "";
    const bKey = bKeys[i] ?? "";
    const order = compareUtf8(aKey, bKey) || compareValues(ownValue(a, aKey) ?? null, ownValue(b, bKey) ?? null);
    if (order !== 0) return order;
  }
  return aKeys.length - bKeys.length;
}

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
    // A key field left out takes its default, so a missing `protocol` means TCP.
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
