// SPDX-License-Identifier: Apache-2.0
// Field sets as managedFields carry them: nested JSON with `f:name` for fields, `k:{…}`, `v:…` and `i:…` for list items,
// `.` where a node with children is a member itself, and `{}` for a leaf.

import { finish, isPartDone, sorting, type Work } from "@purlin/base";
import { goQuote } from "../json/go-text.ts";
import { compareUtf8, isJsonObject, type JsonObject, type JsonValue, setOwnValue } from "../json/json-value.ts";
import {
  asNonMember,
  emptySet,
  type FieldSet,
  fieldSetNode,
  fieldSetSize,
  hasChildren,
  leaf,
  union,
} from "./field-set.ts";
import { canonicalItem, sortItemKeys, sortingItemKeys } from "./item-key.ts";

const emptyFields: JsonObject = Object.freeze({});

// Both directions are remembered: live objects are frozen and kept in memory, so most sets are decoded and encoded once.
const encodings = new WeakMap<FieldSet, JsonObject>();
const decodings = new WeakMap<JsonObject, FieldSet>();

/** The set as FieldsV1, siblings in the reference's order. The result is frozen, and the same for the same set. */
export function encodeFieldsV1(set: FieldSet): JsonObject {
  return encodings.get(set) ?? remember(set, encodeChildren(set, false));
}

/** From this size on a set is encoded in parts. */
const largeSet = 2000;

/** {@link encodeFieldsV1} in parts. */
export function* encodingFieldsV1(set: FieldSet): Work<JsonObject> {
  if (encodings.has(set) || fieldSetSize(set, largeSet) < largeSet) return encodeFieldsV1(set);
  return remember(set, yield* encodingChildren(set, false));
}

function remember(set: FieldSet, fields: JsonObject): JsonObject {
  encodings.set(set, fields);
  decodings.set(fields, set);
  return fields;
}

function* encodingChildren(node: FieldSet, includeSelf: boolean): Work<JsonObject> {
  const out: Record<string, JsonValue> = {};
  if (includeSelf) out["."] = emptyFields;
  for (const name of yield* sorting([...(node.fields?.keys() ?? [])], compareUtf8)) {
    if (isPartDone()) yield;
    const child = node.fields?.get(name) ?? emptySet;
    const fields = hasChildren(child) ? yield* encodingChildren(child, child.member) : emptyFields;
    setOwnValue(out, `f:${name}`, fields);
  }
  for (const key of yield* sortingItemKeys(node.items?.keys() ?? [])) {
    if (isPartDone()) yield;
    const child = node.items?.get(key) ?? emptySet;
    out[key] = hasChildren(child) ? yield* encodingChildren(child, child.member) : emptyFields;
  }
  yield;
  return Object.freeze(out);
}

function encodeNode(node: FieldSet): JsonObject {
  return hasChildren(node) ? encodeChildren(node, node.member) : emptyFields;
}

function encodeChildren(node: FieldSet, includeSelf: boolean): JsonObject {
  const out: Record<string, JsonValue> = {};
  if (includeSelf) out["."] = emptyFields;
  for (const name of sortedNames(node.fields))
    setOwnValue(out, `f:${name}`, encodeNode(node.fields?.get(name) ?? emptySet));
  if (node.items) {
    const keys = node.items.size === 1 ? [...node.items.keys()] : sortItemKeys(node.items.keys());
    for (const key of keys) out[key] = encodeNode(node.items.get(key) ?? emptySet);
  }
  return Object.freeze(out);
}

function sortedNames(fields: ReadonlyMap<string, FieldSet> | undefined): string[] {
  return fields ? [...fields.keys()].sort(compareUtf8) : [];
}

/** Reads FieldsV1. Names of an unknown form are dropped; malformed names throw. */
export function decodeFieldsV1(fields: JsonObject): FieldSet {
  return finish(decodingFieldsV1(fields));
}

/** {@link decodeFieldsV1} in parts. */
export function* decodingFieldsV1(fields: JsonObject): Work<FieldSet> {
  const known = decodings.get(fields);
  if (known) return known;
  const set = asNonMember(yield* decodingNode(fields));
  // Only frozen values may be cached.
  if (Object.isFrozen(fields)) decodings.set(fields, set);
  return set;
}

function* decodingNode(object: JsonObject): Work<FieldSet> {
  let isMember = false;
  let fields: Map<string, FieldSet> | undefined;
  let items: Map<string, FieldSet> | undefined;
  for (const key of Object.keys(object)) {
    if (isPartDone()) yield;
    if (key === ".") {
      isMember = true;
      continue;
    }
    if (key.length < 2 || key.charAt(1) !== ":") throw badName(key);
    const isField = key.charAt(0) === "f";
    const name = isField ? key.slice(2) : canonicalItem(key);
    if (name === undefined) continue;
    const below = objectBelow(object[key] ?? null, key);
    const child = below === undefined ? leaf : yield* decodingNode(below);
    if (isField) {
      fields ??= new Map();
      fields.set(name, child);
    } else {
      items ??= new Map();
      items.set(name, mergeTwice(items.get(name), child));
    }
  }
  // A node nothing hangs below is a member, whether it says so or not.
  return fieldSetNode(isMember || (!fields && !items), fields, items);
}

/** What hangs below a name; undefined when nothing does. */
function objectBelow(value: JsonValue, key: string): JsonObject | undefined {
  if (value === null) return undefined;
  if (!isJsonObject(value)) throw new Error(`expected an object below ${goQuote(key)}`);
  for (const _name in value) return value;
  return undefined;
}

// Two spellings of one item name, say with other spaces, are one item.
const mergeTwice = (before: FieldSet | undefined, now: FieldSet): FieldSet => (before ? union(before, now) : now);

function badName(key: string): Error {
  return new Error(key.length < 2 ? "key must be 2 characters long:" : `missing colon: ${key}`);
}
