// SPDX-License-Identifier: Apache-2.0
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, setOwnValue } from "../json/json-value.ts";
import { type FieldType, messageFields } from "../protobuf/protobuf-fields.ts";
import { typeName } from "./typed-form.ts";

/**
 * An object of a built-in kind with its members in the order of their types, which is the order in which Go writes them: its kind
 * first, what no type knows last. The object itself when it is in order.
 */
export function inTypedOrder(object: JsonObject): JsonObject {
  return ordered(object, objectFields(typeName(String(object["apiVersion"]), String(object["kind"]))));
}

/** Where a field stands, and what it is; undefined for what has no fields of its own to put in order. */
interface Place {
  readonly rank: number;
  readonly type: FieldType | undefined;
}

type Places = ReadonlyMap<string, Place>;

const objectPlaces = new Map<string, Places>();
const maxRemembered = 1000;

/** The fields of a whole object: what it says it is comes first. */
function objectFields(name: string): Places {
  const known = objectPlaces.get(name);
  if (known !== undefined) return known;
  const places = ranked(new Map([["kind", undefined], ["apiVersion", undefined], ...fieldsOf(name)]));
  // Names may come from outside; those of types are far fewer.
  if (objectPlaces.size < maxRemembered) objectPlaces.set(name, places);
  return places;
}

const messagePlaces = new Map<string, Places>();

function placesOf(message: string): Places {
  const known = messagePlaces.get(message) ?? ranked(fieldsOf(message));
  messagePlaces.set(message, known);
  return known;
}

function ranked(fields: ReadonlyMap<string, FieldType | undefined>): Places {
  return new Map([...fields].map(([name, type], rank) => [name, { rank, type: isOrdered(type) ? type : undefined }]));
}

function isOrdered(type: FieldType | undefined): boolean {
  if (type === undefined || type.kind === "scalar") return false;
  return type.kind === "message" || isOrdered(type.of);
}

/** The fields of a message and of those inlined in it, in order. */
function fieldsOf(message: string): Map<string, FieldType> {
  const fields = new Map<string, FieldType>();
  for (const { name, type, inlined } of messageFields(message) ?? []) {
    if (inlined && type.kind === "message") {
      for (const [inner, innerType] of fieldsOf(type.name)) fields.set(inner, innerType);
    } else fields.set(name, type);
  }
  return fields;
}

// Runs for every write, and nearly everything is in order already: nothing is made before something is found not to be.
function ordered(object: JsonObject, places: Places): JsonObject {
  const names = Object.keys(object);
  let last = -1;
  let isSame = true;
  const values: JsonValue[] = [];
  for (const name of names) {
    const value = object[name] as JsonValue;
    const place = places.get(name);
    const rank = place?.rank ?? places.size;
    const next = place?.type === undefined ? value : valueInOrder(value, place.type);
    isSame &&= rank >= last && next === value;
    last = rank;
    values.push(next);
  }
  return isSame ? object : inRankOrder(names, values, places);
}

function inRankOrder(names: readonly string[], values: readonly JsonValue[], places: Places): JsonObject {
  const rankOf = (index: number): number => places.get(names[index] ?? "")?.rank ?? places.size;
  const made: Record<string, JsonValue> = {};
  const indexes = [...names.keys()].sort((a, b) => rankOf(a) - rankOf(b));
  for (const index of indexes) setOwnValue(made, names[index] ?? "", values[index] ?? null);
  return made;
}

function valueInOrder(value: JsonValue, type: FieldType): JsonValue {
  switch (type.kind) {
    case "scalar":
      return value;
    case "message":
      return isJsonObject(value) ? ordered(value, placesOf(type.name)) : value;
    case "list":
      return isJsonArray(value) && type.of.kind !== "scalar" ? listInOrder(value, type.of) : value;
    case "map":
      return isJsonObject(value) && type.of.kind !== "scalar" ? membersInOrder(value, type.of) : value;
  }
}

function listInOrder(list: readonly JsonValue[], type: FieldType): JsonValue {
  const items = list.map((item) => valueInOrder(item, type));
  return items.every((item, index) => item === list[index]) ? list : items;
}

function membersInOrder(object: JsonObject, type: FieldType): JsonObject {
  const members = Object.entries(object).map(([name, value]) => [name, valueInOrder(value, type)] as const);
  return members.every(([name, value]) => value === object[name]) ? object : Object.fromEntries(members);
}
