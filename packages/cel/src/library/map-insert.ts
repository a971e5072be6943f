// SPDX-License-Identifier: Apache-2.0
import { mapOf, typeParam } from "../check/types.ts";
import { CelError, isError, noSuchOverload } from "../values/cel-error.ts";
import { describe } from "../values/describe.ts";
import { EntryMap, GrowingMap, MapValue } from "../values/map.ts";
import type { Meter } from "../values/meter.ts";
import type { Value } from "../values/value.ts";
import { type FunctionDecl, type Implementation, overload, signature } from "./function.ts";

function insert(map: MapValue, [key, value]: readonly [Value, Value], meter: Meter): MapValue | CelError {
  if (map.find(key) !== undefined) return new CelError(`insert failed: key ${describe(key)} already exists`);
  if (map instanceof GrowingMap) {
    map.insert(key, value);
    return map;
  }
  meter.elements(map.size);
  const entries = [...map.keys()].map((known) => [known, map.find(known) ?? null] as const);
  return new EntryMap([[key, value], ...entries]);
}

const insertEntry: Implementation = ([map, key = null, value = null], meter) =>
  map instanceof MapValue ? insert(map, [key, value], meter) : noSuchOverload;

const insertMap: Implementation = ([map, added], meter) => {
  if (!(map instanceof MapValue) || !(added instanceof MapValue)) return noSuchOverload;
  let result = map;
  for (const key of added.keys()) {
    const next = insert(result, [key, added.find(key) ?? null], meter);
    if (isError(next)) return next;
    result = next;
  }
  return result;
};

const key = typeParam("K");
const value = typeParam("V");
const map = mapOf(key, value);

/** What `transformMap` and `transformMapEntry` expand to; no expression can call it by name. */
export const mapInsertFunctions: readonly FunctionDecl[] = [
  {
    name: "cel.@mapInsert",
    overloads: [
      overload(signature("@mapInsert_map_key_value", [map, key, value], map), insertEntry, { stopsAtError: true }),
      overload(signature("@mapInsert_map_map", [map, map], map), insertMap),
    ],
  },
];
