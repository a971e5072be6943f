// SPDX-License-Identifier: Apache-2.0
// Merging an applied configuration into a live value. The configuration wins on leaves; whatever it does not mention
// stays. Parts that do not change are the live value's own parts, so that "nothing changed" shows by identity.
// Merging without field ownership: what a mutating admission policy sets.
import { finish, isPartDone, type Work } from "@purlin/base";
import {
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  setOwnValue,
} from "../json/json-value.ts";
import { copying } from "../json/map-members.ts";
import { sortedKeys } from "../json/utf8.ts";
import { type ApplyType, formOf, isScalarOf, type ListType, type MapType, typeOfKey } from "./apply-type.ts";
import { itemName } from "./item-key.ts";
import { typeProblem } from "./typed-validate.ts";

/** The live value with the configuration merged in. Both must be of the type. */
export function mergeValues(type: ApplyType, live: JsonValue, config: JsonValue): JsonValue {
  return finish(mergingValues(type, live, config));
}

/** {@link mergeValues} in parts. */
export function* mergingValues(type: ApplyType, live: JsonValue, config: JsonValue): Work<JsonValue> {
  if (live === config) return live;
  const form = formOf(type, config);
  if (form === "map" && type.map) return yield* mergeMaps(type.map, live, config);
  if (form === "list" && type.list) return yield* mergeLists(type.list, live, config);
  return takeLeaf(live, config);
}

/** A scalar after a merge; undefined when the wanted value is not a scalar. */
const mergedScalar = (type: ApplyType, live: JsonValue, config: JsonValue): JsonValue | undefined =>
  isScalarOf(type, config) ? takeLeaf(live, config) : undefined;

const takeLeaf = (live: JsonValue, config: JsonValue): JsonValue => (jsonEqual(live, config) ? live : config);

function* mergeMaps(map: MapType, live: JsonValue, config: JsonValue): Work<JsonValue> {
  // Asking a large map for its keys takes long: each is asked once.
  const liveKeys = isJsonObject(live) ? Object.keys(live) : [];
  const keys = isJsonObject(config) ? Object.keys(config) : [];
  if (map.atomic || (liveKeys.length === 0 && keys.length === 0)) return takeLeaf(live, config);
  // An empty or null map says nothing about keys that exist.
  if (keys.length === 0) return live;
  if (liveKeys.length === 0) return config;
  return yield* mergeEntries(map, live as JsonObject, { of: config as JsonObject, keys });
}

interface ConfigEntries {
  readonly of: JsonObject;
  readonly keys: readonly string[];
}

function* mergeEntries(map: MapType, live: JsonObject, config: ConfigEntries): Work<JsonObject> {
  let out: Record<string, JsonValue> | undefined;
  for (const key of config.keys) {
    if (isPartDone()) yield;
    const wanted = config.of[key] ?? null;
    const present = Object.hasOwn(live, key);
    const type = typeOfKey(map, key);
    const merged =
      present && type
        ? (mergedScalar(type, live[key] ?? null, wanted) ?? (yield* mergingValues(type, live[key] ?? null, wanted)))
        : wanted;
    if (present && merged === live[key]) continue;
    out ??= yield* copying(live);
    setOwnValue(out, key, merged);
  }
  return out ?? live;
}

function* mergeLists(list: ListType, live: JsonValue, config: JsonValue): Work<JsonValue> {
  const liveList = Array.isArray(live) && live.length > 0 ? live : undefined;
  const configList = Array.isArray(config) && config.length > 0 ? config : undefined;
  if (list.atomic || (!liveList && !configList)) return takeLeaf(live, config);
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
