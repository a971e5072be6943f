// SPDX-License-Identifier: Apache-2.0
import type { JsonArray, JsonObject, JsonValue } from "../json/json-value.ts";
import { type ApplyType, formOf, type ListType, type MapType, type ScalarKind } from "./apply-type.ts";
import { itemName } from "./list-item.ts";

/** Whether a value has the shape its type asks for. Says nothing about what is wrong, and costs little. */
export function isOfType(type: ApplyType, value: JsonValue, allowDuplicates: boolean): boolean {
  switch (formOf(type, value)) {
    case "map":
      return type.map !== undefined && isMap(type.map, value, allowDuplicates);
    case "list":
      return type.list !== undefined && isList(type.list, value, allowDuplicates);
    case "scalar":
      return isScalar(type.scalar, value);
    default:
      return false;
  }
}

function isScalar(kind: ScalarKind | undefined, value: JsonValue): boolean {
  if (value === null) return true;
  switch (kind) {
    case "numeric":
      return typeof value === "number" || typeof value === "bigint";
    case "string":
    case "boolean":
      return typeof value === kind;
    default:
      return typeof value !== "object";
  }
}

function isMap(map: MapType, value: JsonValue, allowDuplicates: boolean): boolean {
  if (value === null) return true;
  if (typeof value !== "object" || Array.isArray(value)) return false;
  const object = value as JsonObject;
  for (const key of Object.keys(object)) {
    const type = map.field(key)?.type ?? map.element;
    if (!type || !isOfType(type, object[key] ?? null, allowDuplicates)) return false;
  }
  return true;
}

function isList(list: ListType, value: JsonValue, allowDuplicates: boolean): boolean {
  if (value === null) return true;
  if (!Array.isArray(value)) return false;
  if (!list.atomic && !areNamed(list, value, allowDuplicates)) return false;
  for (const item of value) if (!isOfType(list.item, item, allowDuplicates)) return false;
  return true;
}

function areNamed(list: ListType, items: JsonArray, allowDuplicates: boolean): boolean {
  if (allowDuplicates || items.length < 2) return items.every((item) => itemName(list, item) !== undefined);
  const names = new Set<string>();
  for (const item of items) {
    const name = itemName(list, item);
    if (name === undefined || names.has(name)) return false;
    names.add(name);
  }
  return true;
}
