// SPDX-License-Identifier: Apache-2.0
// Merging an applied configuration into a live value. The configuration wins on leaves; whatever it does not mention
// stays. Parts that do not change are the live value's own parts, so that "nothing changed" shows by identity.
// Merging without field ownership: what a mutating admission policy sets.
import { finish, isPartDone, type Work } from "@purlin/base";
import {
  copying,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  setOwnValue,
  sortedKeys,
} from "../json/json-value.ts";
import { type ApplyType, formOf, type ListType, type MapType, typeOfKey } from "./apply-type.ts";
import { itemName } from "./item-key.ts";
import { typeProblem } from "./typed-validate.ts";

/** The live value with the configuration merged in. Both must be of the type. */
export function mergeValues(type: ApplyType, live: JsonValue, config: JsonValue): JsonValue {
  return finish(mergingValues(type, live, config));
}

/** {@link mergeValues} in parts. */
export function* mergingValues(type: ApplyType, live: JsonValue, config: JsonValue): Work<JsonValue> {
  return isMergedInside(type, live, config) ? yield* mergeInside(type, live, config) : takeLeaf(live, config);
}

/** Whether values are merged entry by entry or item by item; others are taken as a whole. */
function isMergedInside(type: ApplyType, live: JsonValue, config: JsonValue): boolean {
  if (live === config) return false;
  const form = formOf(type, config);
  return (form === "map" && !type.map?.atomic) || (form === "list" && !type.list?.atomic);
}

// Not a generator itself: each one has a price, and a map or a list needs only one.
function mergeInside(type: ApplyType, live: JsonValue, config: JsonValue): Work<JsonValue> {
  return formOf(type, config) === "map"
    ? mergeMaps(type.map as MapType, live, config)
    : mergeLists(type.list as ListType, live, config);
}

const takeLeaf = (live: JsonValue, config: JsonValue): JsonValue =>
  live === config || jsonEqual(live, config) ? live : config;

function* mergeMaps(map: MapType, live: JsonValue, config: JsonValue): Work<JsonValue> {
  // Asking a large map for its keys takes long: it is asked once.
  const keys = isJsonObject(config) ? Object.keys(config) : [];
  if (!isJsonObject(live) || isEmptyMap(live)) return keys.length === 0 ? takeLeaf(live, config) : config;
  // An empty or null map does not change keys that exist.
  let out: Record<string, JsonValue> | undefined;
  for (const key of keys) {
    if (isPartDone()) yield;
    const wanted = (config as JsonObject)[key] ?? null;
    const present = Object.hasOwn(live, key);
    const type = present ? typeOfKey(map, key) : undefined;
    const was = live[key] ?? null;
    let merged = wanted;
    if (type && isMergedInside(type, was, wanted)) merged = yield* mergeInside(type, was, wanted);
    else if (type) merged = takeLeaf(was, wanted);
    if (present && merged === live[key]) continue;
    out ??= yield* copying(live);
    setOwnValue(out, key, merged);
  }
  return out ?? live;
}

function isEmptyMap(value: JsonObject): boolean {
  for (const _key in value) return false;
  return true;
}

function* mergeLists(list: ListType, live: JsonValue, config: JsonValue): Work<JsonValue> {
  const liveList = Array.isArray(live) && live.length > 0 ? live : undefined;
  const configList = Array.isArray(config) && config.length > 0 ? config : undefined;
  if (!liveList && !configList) return takeLeaf(live, config);
  if (!configList) return liveList ?? null;
  return liveList ? yield* mergeItems(list, liveList, configList) : configList;
}

interface Side {
  readonly names: readonly string[];
  readonly values: readonly JsonValue[];
  readonly byName: ReadonlyMap<string, JsonValue>;
}

// An item that comes twice among the live ones is not merged with; under its name stands null.
function* indexItems(list: ListType, values: JsonArray): Work<Side> {
  const names: string[] = [];
  const kept: JsonValue[] = [];
  const byName = new Map<string, JsonValue>();
  for (const value of values) {
    if (isPartDone()) yield;
    const name = itemName(list, value);
    if (name === undefined) continue;
    names.push(name);
    kept.push(value);
    byName.set(name, byName.has(name) ? null : value);
  }
  return { names, values: kept, byName };
}

/**
 * Items of both lists come in the configuration's order, items only the live list has keep their place between them, and
 * new items stand where the configuration has them.
 */
function* mergeItems(list: ListType, liveList: JsonArray, configList: JsonArray): Work<JsonValue> {
  const aligned = yield* mergeAligned(list, liveList, configList);
  if (aligned) return aligned;
  const live = yield* indexItems(list, liveList);
  const config = yield* indexItems(list, configList);
  const out: JsonValue[] = [];
  const taken = new Set<string>();
  const shared = config.names.filter((name) => live.byName.has(name));
  let nextShared = 0;
  const takeConfig = function* (name: string): Work<void> {
    taken.add(name);
    const wanted = config.byName.get(name) ?? null;
    const present = live.byName.get(name);
    out.push(present === undefined ? wanted : yield* mergingValues(list.item, present, wanted));
    if (shared[nextShared] === name) nextShared++;
  };
  // A shared item that comes later in the configuration's order: it is taken when the configuration gets to it.
  const isAwaited = (name: string): boolean =>
    config.byName.has(name) && nextShared < shared.length && shared[nextShared] !== name;
  let l = 0;
  let c = 0;
  while (l < live.names.length || c < config.names.length) {
    if (isPartDone()) yield;
    const liveName = live.names[l];
    const configName = config.names[c];
    if (liveName !== undefined && liveName === configName) {
      yield* takeConfig(liveName);
      l++;
      c++;
    } else if (liveName !== undefined && configName !== undefined && isAwaited(liveName)) {
      l++;
    } else if (liveName !== undefined && !config.byName.has(liveName)) {
      out.push(live.values[l] ?? null);
      l++;
    } else {
      if (liveName !== undefined && taken.has(liveName)) l++;
      if (configName !== undefined) {
        yield* takeConfig(configName);
        c++;
      }
    }
  }
  return sameItems(out, liveList) ? liveList : out;
}

// The same items in the same places: what applying again comes to.
function* mergeAligned(list: ListType, live: JsonArray, config: JsonArray): Work<JsonArray | undefined> {
  if (live.length !== config.length) return undefined;
  for (let i = 0; i < live.length; i++) {
    if (isPartDone()) yield;
    if (itemName(list, live[i] ?? null) !== itemName(list, config[i] ?? null)) return undefined;
  }
  const out: JsonValue[] = [];
  for (const [index, item] of live.entries()) {
    if (isPartDone()) yield;
    out.push(yield* mergingValues(list.item, item, config[index] ?? null));
  }
  return sameItems(out, live) ? live : out;
}

function sameItems(a: readonly JsonValue[], b: JsonArray): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

/** The object with a patch merged in, without ownership. Throws an Error with the text of the reference. */
export function mergeUnowned(type: ApplyType, object: JsonObject, patch: JsonObject): JsonObject {
  const problem = typeProblem(type, patch, { allowDuplicates: false });
  if (problem !== undefined) throw new Error(`failed to convert patch object to typed object: ${problem}`);
  const live = typeProblem(type, object, { allowDuplicates: true });
  if (live !== undefined) throw new Error(`failed to convert original object to typed object: ${live}`);
  const atomics = atomicPaths(type, patch, "");
  if (atomics.length > 0) {
    const why = `may not mutate atomic arrays, maps or structs: ${atomics.join(", ")}`;
    throw new Error(`invalid ApplyConfiguration: ${why}`);
  }
  return mergeValues(type, object, patch) as JsonObject;
}

/** The paths of maps and lists in a patch that are owned as a whole. */
function atomicPaths(type: ApplyType, value: JsonValue, path: string): string[] {
  if (isJsonObject(value) && type.map) {
    const { map } = type;
    const inside = sortedKeys(value).flatMap((key) => {
      const field = map.field(key);
      return field === undefined ? [] : atomicPaths(field.type, value[key] ?? null, `${path}.${key}`);
    });
    return map.atomic ? [path, ...inside] : inside;
  }
  if (Array.isArray(value) && type.list) {
    const { list } = type;
    const items = value as readonly JsonValue[];
    const inside = items.flatMap((item, index) => atomicPaths(list.item, item, `${path}[${index}]`));
    return list.atomic ? [path, ...inside] : inside;
  }
  return [];
}
