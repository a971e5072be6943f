// SPDX-License-Identifier: Apache-2.0
// Field sets as managedFields carry them: nested JSON with `f:name` for fields, `k:{…}`, `v:…` and `i:…` for list items,
// `.` where a node with children is a member itself, and `{}` for a leaf.

import type { Work } from "@purlin/base";
import { goQuote } from "../json/go-text.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { setOwnValue } from "../json/own-value.ts";
import { compareUtf8 } from "../json/utf8.ts";
import { asNonMember, emptySet, type FieldSet, fieldSetNode, fieldSetSize, hasChildren, leaf } from "./field-set.ts";
import { union } from "./field-set-algebra.ts";
import { canonicalItem, sortItemKeys } from "./item-key.ts";

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
  if (encodings.has(set) || fieldSetSize(set) < largeSet) return encodeFieldsV1(set);
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
  const names = sortedNames(node.fields).map((name) => [`f:${name}`, node.fields?.get(name)] as const);
  yield;
  const items = sortItemKeys(node.items?.keys() ?? []).map((key) => [key, node.items?.get(key)] as const);
  for (const [index, [name, child]] of [...names, ...items].entries()) {
    if (index % largeSet === 0) yield;
    const value = child && hasChildren(child) ? yield* encodingChildren(child, child.member) : emptyFields;
    setOwnValue(out, name, value);
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
  const known = decodings.get(fields);
  if (known) return known;
  const set = asNonMember(decodeNode(fields));
  // Only frozen values may be cached.
  if (Object.isFrozen(fields)) decodings.set(fields, set);
  return set;
}

function decodeNode(object: JsonObject): FieldSet {
  let isMember = false;
  let fields: Map<string, FieldSet> | undefined;
  let items: Map<string, FieldSet> | undefined;
  for (const key of Object.keys(object)) {
    if (key === ".") {
      isMember = true;
      continue;
    }
    if (key.length < 2 || key.charAt(1) !== ":") throw badName(key);
    const isField = key.charAt(0) === "f";
    const name = isField ? key.slice(2) : canonicalItem(key);
    if (name === undefined) continue;
    const child = decodeChild(object[key] ?? null, key);
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

function decodeChild(value: JsonValue, key: string): FieldSet {
  if (value === null) return leaf;
  if (!isJsonObject(value)) throw new Error(`expected an object below ${goQuote(key)}`);
  return decodeNode(value);
}

// Two spellings of one item name, say with other spaces, are one item.
const mergeTwice = (before: FieldSet | undefined, now: FieldSet): FieldSet => (before ? union(before, now) : now);

function badName(key: string): Error {
  return new Error(key.length < 2 ? "key must be 2 characters long:" : `missing colon: ${key}`);
}
