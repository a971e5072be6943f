// SPDX-License-Identifier: Apache-2.0
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { copyOf, type Mapped, mapItems, mapMembers, removed } from "../json/map-members.ts";
import { setOwnValue } from "../json/own-value.ts";
import { type StructuralNode, structuralNode } from "./structural-node.ts";

/**
 * Fills in the defaults of a structural schema: where a member is absent, or null and not nullable, and its parent is
 * there. The object is not changed; when nothing is missing it comes back itself.
 */
export function applyDefaults(object: JsonObject, schema: JsonObject): JsonObject {
  return withDefaults(object, structuralNode(schema)) as JsonObject;
}

/** Drops members that are null although their schema is not nullable and has no default to put there. */
export function dropForbiddenNulls(object: JsonObject, schema: JsonObject): JsonObject {
  return withoutNulls(object, structuralNode(schema)) as JsonObject;
}

function withDefaults(value: JsonValue, node: StructuralNode | undefined): JsonValue {
  if (node === undefined) return value;
  if (isJsonArray(value)) return mapItems(value, (item) => withDefaults(orDefault(item, node.items), node.items));
  if (!isJsonObject(value)) return value;
  return mapMembers(withMissing(value, node), (member, key) => {
    const property = node.property(key);
    if (property !== undefined) return withDefaults(member, property);
    const additional = node.additional?.node;
    return withDefaults(orDefault(member, additional), additional);
  });
}

function withMissing(object: JsonObject, node: StructuralNode): JsonObject {
  let copy: Record<string, JsonValue> | undefined;
  for (const [name, value] of node.defaults) {
    const present = Object.hasOwn(object, name) && !isForbiddenNull(object[name], node.property(name));
    if (present) continue;
    copy ??= copyOf(object);
    setOwnValue(copy, name, value);
  }
  return copy ?? object;
}

function orDefault(value: JsonValue, node: StructuralNode | undefined): JsonValue {
  return isForbiddenNull(value, node) ? (node?.defaultValue ?? null) : value;
}

function isForbiddenNull(value: JsonValue | undefined, node: StructuralNode | undefined): boolean {
  return value === null && node !== undefined && !node.isNullable;
}

function withoutNulls(value: JsonValue, node: StructuralNode | undefined): JsonValue {
  if (node === undefined) return value;
  if (isJsonArray(value)) return mapItems(value, (item) => withoutNulls(item, node.items));
  if (!isJsonObject(value)) return value;
  return mapMembers(value, (member, key): Mapped => {
    const child = node.property(key) ?? node.additional?.node;
    if (isForbiddenNull(member, child) && child?.defaultValue == null) return removed;
    return withoutNulls(member, child);
  });
}
