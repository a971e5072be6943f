// SPDX-License-Identifier: Apache-2.0
import type { FieldSet } from "@purlin/kube-objects/apply";
import { goJson, isJsonObject, type JsonObject, type JsonValue, parseJson } from "@purlin/kube-objects/json";

/** An item of a list that is wanted, what we own of it, and the item as it is. */
interface MatchedItem {
  /** The item's name in a field path. */
  readonly key: string;
  readonly node: FieldSet;
  readonly wanted: JsonValue;
  readonly current: JsonValue;
}

/**
 * Pairs the items of a wanted list, one by one, with those we own (`node`) and those that are there. Undefined when that
 * is not possible, or when the items there come in another order: applying the list would change something.
 */
export function matchItems(
  node: FieldSet,
  wanted: readonly JsonValue[],
  current: readonly JsonValue[],
): MatchedItem[] | undefined {
  const owned = ownedItems(node);
  if (owned === undefined || wanted.length !== owned.size) return undefined;
  const places = placesOf(owned, current);
  if (places === undefined) return undefined;
  const matched: MatchedItem[] = [];
  const used = new Set<string>();
  let last = -1;
  for (const item of wanted) {
    const found = owned.find(item);
    const place = found && places.get(found.text);
    if (found === undefined || place === undefined || place <= last || used.has(found.key)) return undefined;
    last = place;
    used.add(found.key);
    matched.push({ key: found.key, node: found.node, wanted: item, current: current[place] ?? null });
  }
  return matched;
}

/** Where each item is in the list, by the text that tells items apart. Undefined when two have the same. */
function placesOf(owned: OwnedItems, current: readonly JsonValue[]): Map<string, number> | undefined {
  const places = new Map<string, number>();
  for (const [index, item] of current.entries()) {
    const text = owned.textOf(item);
    if (text === undefined) continue;
    if (places.has(text)) return undefined;
    places.set(text, index);
  }
  return places;
}

interface OwnedItem {
  readonly key: string;
  /** What tells the item apart: its key fields, or its value. */
  readonly text: string;
  readonly node: FieldSet;
}

interface OwnedItems {
  readonly size: number;
  find(item: JsonValue): OwnedItem | undefined;
  textOf(item: JsonValue): string | undefined;
}

const remembered = new WeakMap<FieldSet, OwnedItems | "unknown">();

/** Reads the names of the items once for each set: sets live as long as the object they came with. */
function ownedItems(node: FieldSet): OwnedItems | undefined {
  const known = remembered.get(node) ?? readItems(node) ?? "unknown";
  remembered.set(node, known);
  return known === "unknown" ? undefined : known;
}

function readItems({ items }: FieldSet): OwnedItems | undefined {
  const entries = [...(items ?? [])].map(([key, node]) => ({ key, node, value: parseJson(key.slice(2)) }));
  if (entries.every(({ key }) => key.startsWith("v:"))) return valueItems(entries);
  if (entries.every(({ key, value }) => key.startsWith("k:") && isJsonObject(value))) {
    return keyedItems(entries as readonly KeyedEntry[]);
  }
  return undefined;
}

interface Entry {
  readonly key: string;
  readonly node: FieldSet;
  readonly value: JsonValue;
}

interface KeyedEntry extends Entry {
  readonly value: JsonObject;
}

function valueItems(entries: readonly Entry[]): OwnedItems {
  const byText = new Map(entries.map(({ key, node, value }) => [goJson(value), { key, node, text: goJson(value) }]));
  return { size: byText.size, find: (item) => byText.get(goJson(item)), textOf: (item) => goJson(item) };
}

function keyedItems(entries: readonly KeyedEntry[]): OwnedItems {
  const names = Object.keys(entries[0]?.value ?? {}).sort();
  const byKey = new Map<string, OwnedItem>();
  // By the key fields that were applied themselves: the others are defaults, which the wanted item leaves out as well.
  const byApplied = new Map<string, OwnedItem>();
  for (const { key, node, value } of entries) {
    const item = { key, node, text: textOf(value, names) };
    byKey.set(item.text, item);
    byApplied.set(
      textOf(
        value,
        // An atomic item, such as an owner reference, lists no fields: it was applied whole.
        names.filter((name) => node.fields === undefined || node.fields.has(name)),
      ),
      item,
    );
  }
  return {
    size: byKey.size,
    find: (item) => (isJsonObject(item) ? byApplied.get(textOf(item, names)) : undefined),
    textOf: (item) => (isJsonObject(item) ? textOf(item, names) : undefined),
  };
}

/** The key fields an object has, as one text. */
function textOf(object: JsonObject, names: readonly string[]): string {
  return goJson(names.filter((name) => Object.hasOwn(object, name)).map((name) => [name, object[name] ?? null]));
}
