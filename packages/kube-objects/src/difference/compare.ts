// SPDX-License-Identifier: Apache-2.0

import {
  goJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  ownValue,
  printJson,
} from "../json/index.ts";
import { canonicalQuantity, compareQuantities } from "../typed/index.ts";

/** One field that a change adds, removes or replaces. */
export interface FieldChange {
  /** Such as `spec.containers[name=app].image` or `metadata.annotations[example.org/key]`. */
  readonly path: string;
  readonly op: "add" | "remove" | "replace";
  readonly old?: JsonValue | undefined;
  readonly new?: JsonValue | undefined;
  readonly sensitive?: boolean;
  /** The value is known only after the change is applied. */
  readonly unknown?: boolean;
}

/** The differences between two values, by field. Lists are compared as their schema says. */
export function compareValues(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  schema: JsonObject | undefined,
): FieldChange[] {
  const changes: FieldChange[] = [];
  compareAt({ path: "", before, after, schema }, changes);
  return changes;
}

interface Pair {
  readonly path: string;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
  readonly schema: JsonObject | undefined;
}

function compareAt(pair: Pair, changes: FieldChange[]): void {
  const { path, before, after } = pair;
  if (isSame(pair)) return;
  if (isJsonObject(before) && isJsonObject(after)) compareObjects({ ...pair, before, after }, changes);
  else if (Array.isArray(before) && Array.isArray(after)) compareLists({ ...pair, before, after }, changes);
  else if (isAbsent(before)) changes.push({ path, op: "add", new: after });
  else if (isAbsent(after)) changes.push({ path, op: "remove", old: before });
  else changes.push({ path, op: "replace", old: before, new: after });
}

function isAbsent(value: JsonValue | undefined): boolean {
  return value === undefined || value === null;
}

function isSame({ path, before, after, schema }: Pair): boolean {
  if (isAbsent(before) && isAbsent(after)) return true;
  if (isAbsent(before) || isAbsent(after)) return isEmptyWhereDropped(path, isAbsent(before) ? after : before);
  if (jsonEqual(before as JsonValue, after as JsonValue)) return true;
  return isQuantity(path, schema) && sameQuantity(before, after);
}

/** The server drops empty maps of metadata. */
function isEmptyWhereDropped(path: string, value: JsonValue | undefined): boolean {
  if (!/^metadata\.(labels|annotations|finalizers|ownerReferences)$/.test(path)) return false;
  return Array.isArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0;
}

const quantities = /(?:^|\.)(?:limits|requests|capacity|hard|allocatable)(?:\.[^.]+|\[[^\]]+\])$/;

function isQuantity(path: string, schema: JsonObject | undefined): boolean {
  return quantities.test(path) || schema?.["x-kubernetes-int-or-string"] === true;
}

function sameQuantity(before: JsonValue | undefined, after: JsonValue | undefined): boolean {
  const [one, other] = [String(before), String(after)];
  if (canonicalQuantity(one) === undefined || canonicalQuantity(other) === undefined) return false;
  return compareQuantities(one, other) === 0;
}

function compareObjects(
  { path, before, after, schema }: Pair & { readonly before: JsonObject; readonly after: JsonObject },
  changes: FieldChange[],
): void {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  for (const name of names) {
    const member = {
      before: ownValue(before, name),
      after: ownValue(after, name),
      schema: schemaOfMember(schema, name),
    };
    compareAt({ path: memberPath(path, name), ...member }, changes);
  }
}

function memberPath(path: string, name: string): string {
  if (/^[A-Za-z_$][\w$-]*$/.test(name)) return path === "" ? name : `${path}.${name}`;
  return `${path}[${name}]`;
}

function compareLists(pair: ListPair, changes: FieldChange[]): void {
  const { path, before, after, schema } = pair;
  const kind = listKind(pair);
  const items = isJsonObject(schema?.["items"]) ? schema["items"] : undefined;
  const isPaired =
    before.length === after.length && before.every((item, at) => isJsonObject(item) && isJsonObject(after[at]));
  if (kind.type === "map") compareByKeys(pair, kind.keys, changes);
  else if (kind.type === "set") compareSets(pair, changes);
  else if (!isPaired) compareSequences(pair, changes);
  else {
    for (const [at, item] of before.entries()) {
      compareAt({ path: `${path}[${at}]`, before: item, after: after[at], schema: items }, changes);
    }
  }
}

interface ListPair extends Pair {
  readonly before: readonly JsonValue[];
  readonly after: readonly JsonValue[];
}

type ListKind =
  | { readonly type: "map"; readonly keys: readonly string[] }
  | { readonly type: "set" }
  | { readonly type: "atomic" };

const guessedKeys = ["name", "key", "id", "type"];

function listKind({ path, before, after, schema }: ListPair): ListKind {
  const declared = schema?.["x-kubernetes-list-type"];
  const keys = schema?.["x-kubernetes-list-map-keys"];
  if (declared === "map" && Array.isArray(keys)) return { type: "map", keys: keys.map(String) };
  if (declared === "set" || path === "metadata.finalizers") return { type: "set" };
  // In a custom resource a list without a type is replaced as a whole, and its order counts.
  if (schema !== undefined) return { type: "atomic" };
  const key = guessedKeys.find((name) => isUniqueKey(before, name) && isUniqueKey(after, name));
  return key === undefined ? { type: "atomic" } : { type: "map", keys: [key] };
}

function isUniqueKey(items: readonly JsonValue[], key: string): boolean {
  const values = items.map((item) => (isJsonObject(item) ? ownValue(item, key) : undefined));
  return values.every((value) => typeof value === "string") && new Set(values).size === values.length;
}

function compareByKeys(
  { path, before, after, schema }: ListPair,
  keys: readonly string[],
  changes: FieldChange[],
): void {
  const items = isJsonObject(schema?.["items"]) ? schema["items"] : undefined;
  const idOf = (item: JsonValue): string =>
    keys.map((key) => `${key}=${isJsonObject(item) ? String(ownValue(item, key) ?? "") : ""}`).join(",");
  const [old, now] = [
    new Map(before.map((item) => [idOf(item), item])),
    new Map(after.map((item) => [idOf(item), item])),
  ];
  for (const id of [...new Set([...old.keys(), ...now.keys()])].sort()) {
    compareAt({ path: `${path}[${id}]`, before: old.get(id), after: now.get(id), schema: items }, changes);
  }
}

function compareSets({ path, before, after }: ListPair, changes: FieldChange[]): void {
  // By text: sets of tens of thousands of items are compared in the time it takes to read them.
  const [old, now] = [new Set(before.map(goJson)), new Set(after.map(goJson))];
  for (const item of before)
    if (!now.has(goJson(item))) changes.push({ path: `${path}[${textOfItem(item)}]`, op: "remove", old: item });
  for (const item of after)
    if (!old.has(goJson(item))) changes.push({ path: `${path}[${textOfItem(item)}]`, op: "add", new: item });
}

function textOfItem(item: JsonValue): string {
  return typeof item === "string" ? item : printJson(item);
}

/** Lists longer than this are reported as a whole: a longest common subsequence costs their product. */
const longest = 400;

function compareSequences({ path, before, after }: ListPair, changes: FieldChange[]): void {
  if (before.length > longest || after.length > longest) {
    changes.push({ path, op: "replace", old: before as JsonValue, new: after as JsonValue });
    return;
  }
  const common = commonItems(before, after);
  before.forEach((item, at) => {
    if (!common.before.has(at)) changes.push({ path: `${path}[${at}]`, op: "remove", old: item });
  });
  after.forEach((item, at) => {
    if (!common.after.has(at)) changes.push({ path: `${path}[${at}]`, op: "add", new: item });
  });
}

/** The indexes of a longest common subsequence in both lists. */
function commonItems(
  before: readonly JsonValue[],
  after: readonly JsonValue[],
): { readonly before: ReadonlySet<number>; readonly after: ReadonlySet<number> } {
  const lengths = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  const same = (i: number, j: number): boolean => jsonEqual(before[i] ?? null, after[j] ?? null);
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const row = lengths[i];
      if (row !== undefined) row[j] = same(i, j) ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const found = { before: new Set<number>(), after: new Set<number>() };
  for (let [i, j] = [0, 0]; i < before.length && j < after.length; ) {
    if (same(i, j)) {
      found.before.add(i++);
      found.after.add(j++);
    } else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return found;
}

function schemaOfMember(schema: JsonObject | undefined, name: string): JsonObject | undefined {
  if (schema === undefined) return undefined;
  const properties = schema["properties"];
  const own = isJsonObject(properties) ? ownValue(properties, name) : undefined;
  if (isJsonObject(own)) return own;
  const others = schema["additionalProperties"];
  return isJsonObject(others) ? others : undefined;
}
