// SPDX-License-Identifier: Apache-2.0
// Merging an applied configuration into a live value. The configuration wins on leaves; whatever it does not mention
// stays. Parts that do not change are the live value's own parts, so that "nothing changed" shows by identity.
import { jsonEqual } from "../json/json-equal.ts";
import { isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { setOwnValue } from "../json/own-value.ts";
import { type ApplyType, formOf, type ListType, type MapType, typeOfKey } from "./apply-type.ts";
import { itemName } from "./list-item.ts";

/** The live value with the configuration merged in. Both must be of the type. */
export function mergeValues(type: ApplyType, live: JsonValue, config: JsonValue): JsonValue {
  if (live === config) return live;
  const form = formOf(type, config);
  if (form === "map" && type.map) return mergeMaps(type.map, live, config);
  if (form === "list" && type.list) return mergeLists(type.list, live, config);
  return takeLeaf(live, config);
}

const takeLeaf = (live: JsonValue, config: JsonValue): JsonValue => (jsonEqual(live, config) ? live : config);

function isEmpty(object: JsonObject): boolean {
  for (const _key in object) return false;
  return true;
}

function mergeMaps(map: MapType, live: JsonValue, config: JsonValue): JsonValue {
  const liveMap = isJsonObject(live) && !isEmpty(live) ? live : undefined;
  const configMap = isJsonObject(config) && !isEmpty(config) ? config : undefined;
  if (map.atomic || (!liveMap && !configMap)) return takeLeaf(live, config);
  // An empty or null map says nothing about keys that exist.
  if (!configMap) return liveMap ?? null;
  return liveMap ? mergeEntries(map, liveMap, configMap) : configMap;
}

function mergeEntries(map: MapType, live: JsonObject, config: JsonObject): JsonObject {
  let out: Record<string, JsonValue> | undefined;
  for (const key of Object.keys(config)) {
    const wanted = config[key] ?? null;
    const present = Object.hasOwn(live, key);
    const type = typeOfKey(map, key);
    const merged = present && type ? mergeValues(type, live[key] ?? null, wanted) : wanted;
    if (present && merged === live[key]) continue;
    out ??= { ...live };
    setOwnValue(out, key, merged);
  }
  return out ?? live;
}

function mergeLists(list: ListType, live: JsonValue, config: JsonValue): JsonValue {
  const liveList = Array.isArray(live) && live.length > 0 ? live : undefined;
  const configList = Array.isArray(config) && config.length > 0 ? config : undefined;
  if (list.atomic || (!liveList && !configList)) return takeLeaf(live, config);
  if (!configList) return liveList ?? null;
  return liveList ? mergeItems(list, liveList, configList) : configList;
}

interface Side {
  readonly names: readonly string[];
  readonly values: readonly JsonValue[];
  readonly byName: ReadonlyMap<string, JsonValue>;
}

// An item that comes twice among the live ones is not merged with; under its name stands null.
function indexItems(list: ListType, values: JsonArray): Side {
  const names: string[] = [];
  const kept: JsonValue[] = [];
  const byName = new Map<string, JsonValue>();
  for (const value of values) {
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
function mergeItems(list: ListType, liveList: JsonArray, configList: JsonArray): JsonValue {
  const aligned = mergeAligned(list, liveList, configList);
  if (aligned) return aligned;
  const live = indexItems(list, liveList);
  const config = indexItems(list, configList);
  const out: JsonValue[] = [];
  const taken = new Set<string>();
  const shared = config.names.filter((name) => live.byName.has(name));
  let nextShared = 0;
  const takeConfig = (name: string): void => {
    taken.add(name);
    const wanted = config.byName.get(name) ?? null;
    const present = live.byName.get(name);
    out.push(present === undefined ? wanted : mergeValues(list.item, present, wanted));
    if (shared[nextShared] === name) nextShared++;
  };
  // A shared item that comes later in the configuration's order: it is taken when the configuration gets to it.
  const isAwaited = (name: string): boolean =>
    config.byName.has(name) && nextShared < shared.length && shared[nextShared] !== name;
  let l = 0;
  let c = 0;
  while (l < live.names.length || c < config.names.length) {
    const liveName = live.names[l];
    const configName = config.names[c];
    if (liveName !== undefined && liveName === configName) {
      takeConfig(liveName);
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
        takeConfig(configName);
        c++;
      }
    }
  }
  return sameItems(out, liveList) ? liveList : out;
}

// The same items in the same places: what applying again comes to.
function mergeAligned(list: ListType, live: JsonArray, config: JsonArray): JsonArray | undefined {
  if (live.length !== config.length) return undefined;
  for (let i = 0; i < live.length; i++) {
    if (itemName(list, live[i] ?? null) !== itemName(list, config[i] ?? null)) return undefined;
  }
  const out = live.map((item, index) => mergeValues(list.item, item, config[index] ?? null));
  return sameItems(out, live) ? live : out;
}

function sameItems(a: readonly JsonValue[], b: JsonArray): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
