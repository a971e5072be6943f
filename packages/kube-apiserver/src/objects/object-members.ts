// SPDX-License-Identifier: Apache-2.0
// Members of objects: metadata, fields to select by, and the order in which members are written.
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
import { memberAt, type ObjectMeta, type OwnerReference } from "@purlin/kube-objects/object";

/** The metadata of an object whose shape was checked when it was read. */
export function metaOf(object: JsonObject): ObjectMeta {
  const metadata = object["metadata"];
  return isJsonObject(metadata) ? (metadata as ObjectMeta) : {};
}

/** The object with some of its metadata replaced; undefined takes a field away. */
export function withMeta(
  object: JsonObject,
  changes: { readonly [K in keyof ObjectMeta]?: ObjectMeta[K] | undefined },
): JsonObject {
  const metadata: Record<string, unknown> = { ...metaOf(object) };
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) {
      delete metadata[name];
    } else {
      metadata[name] = value;
    }
  }
  return { ...object, metadata: metadata as JsonObject };
}

/** Whether the object is being deleted. */
export function isDeleting(object: JsonObject): boolean {
  const { deletionTimestamp } = metaOf(object);
  return deletionTimestamp !== undefined && deletionTimestamp !== null;
}

/** The object with another member, or without it. */
export function withMember(object: JsonObject, name: string, value: JsonValue | undefined): JsonObject {
  if (value !== undefined) return { ...object, [name]: value };
  if (!Object.hasOwn(object, name)) return object;
  const { [name]: _dropped, ...rest } = object;
  return rest;
}

/** The object with every owner once, and a warning about those that came twice. */
export function dedupedOwners(object: JsonObject): {
  readonly object: JsonObject;
  readonly warnings: readonly string[];
} {
  const owners = metaOf(object).ownerReferences ?? [];
  // Owners that differ in their uid differ: only others are compared member by member, which takes long for very many.
  if (new Set(owners.map(({ uid }) => uid)).size === owners.length) return { object, warnings: [] };
  const distinct = new Map<string, OwnerReference>();
  const repeated: string[] = [];
  for (const owner of owners) {
    // All members are texts and switches, so two that say the same have the same text.
    const text = JSON.stringify(Object.entries(owner).sort());
    if (distinct.has(text)) {
      repeated.push(owner.uid);
    } else {
      distinct.set(text, owner);
    }
  }
  if (repeated.length === 0) return { object, warnings: [] };
  const warning = `.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${repeated.join(", ")}`;
  return { object: withMeta(object, { ownerReferences: [...distinct.values()] }), warnings: [warning] };
}

/** A field to select by: the text at a path. */
function textField(path: string): (object: JsonObject) => string {
  const names = path.split(".");
  return (object) => {
    const value = memberAt(object, names);
    return value === undefined || value === null ? "" : String(value);
  };
}

/** Fields to select by, each named by its path. */
export function textFields(...paths: readonly string[]): Record<string, (object: JsonObject) => string> {
  return Object.fromEntries(paths.map((path) => [path, textField(path)]));
}

// The order in which the reference writes the members of objects: as their Go types have them, or by name where it keeps maps.

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
