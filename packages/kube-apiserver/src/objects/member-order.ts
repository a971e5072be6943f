// SPDX-License-Identifier: Apache-2.0
// The order in which the reference writes the members of objects: as their Go types have them, or by name where it keeps maps.
import { isPartDone, sorting, type Work } from "@purlin/base";
import {
  compareUtf8,
  isContainer,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  setOwnValue,
} from "@purlin/kube-objects/json";

const metaOrder: readonly string[] = [
  "name",
  "generateName",
  "namespace",
  "selfLink",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "labels",
  "annotations",
  "ownerReferences",
  "finalizers",
  "managedFields",
];
const ownerOrder: readonly string[] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
const managerOrder: readonly string[] = [
  "manager",
  "operation",
  "apiVersion",
  "time",
  "fieldsType",
  "fieldsV1",
  "subresource",
];

/** Metadata as Go's ObjectMeta has it. */
export function inMetaOrder(metadata: JsonObject): JsonObject {
  const ordered = inOrder(metadata, metaOrder);
  const { ownerReferences, managedFields } = ordered;
  return {
    ...ordered,
    ...(ownerReferences !== undefined && { ownerReferences: eachInOrder(ownerReferences, ownerOrder) }),
    ...(managedFields !== undefined && { managedFields: eachInOrder(managedFields, managerOrder) }),
  };
}

function eachInOrder(list: JsonValue, names: readonly string[]): JsonValue {
  return isJsonArray(list) ? list.map((item) => (isJsonObject(item) ? inOrder(item, names) : item)) : list;
}

function inOrder(object: JsonObject, names: readonly string[]): JsonObject {
  const ordered: Record<string, JsonValue> = {};
  for (const name of names) {
    const value = object[name];
    if (value !== undefined) ordered[name] = value;
  }
  return ordered;
}

/** A value with the members of every object in it sorted by name; the value itself when they are. */
export function inNameOrder<T extends JsonValue>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  return (isJsonArray(value) ? itemsByName(value) : membersByName(value as JsonObject)) as T;
}

function itemsByName(list: readonly JsonValue[]): JsonValue {
  const items = list.map(inNameOrder);
  return items.every((item, index) => item === list[index]) ? list : items;
}

// Runs for every write of a custom object; nearly all are sorted already.
function membersByName(object: JsonObject): JsonObject {
  const names = Object.keys(object);
  const values: JsonValue[] = [];
  let isSame = true;
  let last = "";
  for (const name of names) {
    const value = object[name] as JsonValue;
    const next = inNameOrder(value);
    isSame &&= next === value && compareUtf8(last, name) <= 0;
    last = name;
    values.push(next);
  }
  if (isSame) return object;
  const members = names.map((name, index) => [name, values[index] as JsonValue] as const);
  return Object.fromEntries(members.sort(([a], [b]) => compareUtf8(a, b)));
}

/** {@link inNameOrder} in parts, for large values. */
export function* orderingByName(value: JsonValue): Work<JsonValue> {
  if (isJsonArray(value)) return yield* orderingItems(value);
  return isJsonObject(value) ? yield* orderingMembers(value) : value;
}

function* orderingItems(list: readonly JsonValue[]): Work<JsonValue> {
  const items: JsonValue[] = [];
  let isSame = true;
  for (const item of list) {
    if (isPartDone()) yield;
    const next = isContainer(item) ? yield* orderingByName(item) : item;
    isSame &&= next === item;
    items.push(next);
  }
  return isSame ? list : items;
}

function* orderingMembers(object: JsonObject): Work<JsonValue> {
  const members: Record<string, JsonValue> = {};
  const names = Object.keys(object);
  const sorted = yield* sorting(names, compareUtf8);
  let isSame = true;
  for (const [index, name] of sorted.entries()) {
    if (isPartDone()) yield;
    const value = object[name] as JsonValue;
    const next = isContainer(value) ? yield* orderingByName(value) : value;
    isSame &&= next === value && name === names[index];
    setOwnValue(members, name, next);
  }
  return isSame ? object : members;
}
