// SPDX-License-Identifier: Apache-2.0
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { setOwnValue } from "../json/own-value.ts";
import { type FieldType, messageFields } from "../protobuf/field-table.ts";
import { typeName } from "./typed-form.ts";

/**
 * An object of a built-in kind with its members in the order of their types, which is the order in which Go writes them: its kind
 * first, what no type knows last. The object itself when it is in order.
 */
export function inTypedOrder(object: JsonObject): JsonObject {
  return ordered(object, objectFields(typeName(String(object["apiVersion"]), String(object["kind"]))));
}

type Fields = ReadonlyMap<string, FieldType | undefined>;

const objectOrders = new Map<string, Fields>();
const maxOrders = 1000;

/** The fields of a whole object: what it says it is comes first. */
function objectFields(name: string): Fields {
  const known = objectOrders.get(name);
  if (known !== undefined) return known;
  const fields = new Map<string, FieldType | undefined>([
    ["kind", undefined],
    ["apiVersion", undefined],
    ...fieldsOf(name),
  ]);
  // Names may come from outside; those of types are far fewer.
  if (objectOrders.size < maxOrders) objectOrders.set(name, fields);
  return fields;
}

const orders = new Map<string, ReadonlyMap<string, FieldType>>();

/** The fields of a message and of those inlined in it, in order. */
function fieldsOf(message: string): ReadonlyMap<string, FieldType> {
  const known = orders.get(message);
  if (known !== undefined) return known;
  const fields = new Map<string, FieldType>();
  for (const { name, type, inlined } of messageFields(message) ?? []) {
    if (inlined && type.kind === "message")
      for (const [inner, innerType] of fieldsOf(type.name)) fields.set(inner, innerType);
    else fields.set(name, type);
  }
  if (fields.size > 0) orders.set(message, fields);
  return fields;
}

function ordered(object: JsonObject, fields: Fields): JsonObject {
  if (fields.size === 0) return object;
  const names = [...fields.keys()].filter((name) => Object.hasOwn(object, name));
  const others = Object.keys(object).filter((name) => !fields.has(name));
  const made: Record<string, JsonValue> = {};
  let isSame = true;
  const before = Object.keys(object);
  for (const [index, name] of [...names, ...others].entries()) {
    const value = object[name] as JsonValue;
    const type = fields.get(name);
    const next = type === undefined ? value : valueInOrder(value, type);
    isSame &&= before[index] === name && next === value;
    setOwnValue(made, name, next);
  }
  return isSame ? object : made;
}

function valueInOrder(value: JsonValue, type: FieldType): JsonValue {
  switch (type.kind) {
    case "scalar":
      return value;
    case "message":
      return isJsonObject(value) ? ordered(value, fieldsOf(type.name)) : value;
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
