// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";

/** One level of a field path: a member, or an item of a list by its key or position. */
interface FieldChild {
  readonly path: string;
  readonly value: JsonValue;
}

/** Members that identify the items of a list, where all items have it and no two have the same. */
const keys = ["name", "key", "id", "type"] as const;

/** The members of an object or the items of a list, with their paths. A scalar, and an empty object or list, has none. */
export function childrenOf(value: JsonValue, path: string): readonly FieldChild[] {
  if (Array.isArray(value)) {
    const key = listKey(value);
    return value.map((item, index) => ({
      path: `${path}[${key === undefined ? index : `${key}=${String((item as JsonObject)[key])}`}]`,
      value: item,
    }));
  }
  if (!isJsonObject(value)) return [];
  return Object.keys(value)
    .sort()
    .map((name) => ({ path: memberPath(path, name), value: value[name] ?? null }));
}

/** All fields below a value that have no fields themselves, by path. */
export function leavesOf(value: JsonValue | undefined, path = ""): Map<string, JsonValue> {
  const leaves = new Map<string, JsonValue>();
  const collect = (one: JsonValue, at: string): void => {
    const children = childrenOf(one, at);
    if (children.length === 0) leaves.set(at, one);
    for (const child of children) collect(child.value, child.path);
  };
  if (value !== undefined) collect(value, path);
  return leaves;
}

function memberPath(path: string, name: string): string {
  if (!/^[A-Za-z_$(][\w$()-]*$/.test(name)) return `${path}[${name}]`;
  return path === "" ? name : `${path}.${name}`;
}

function listKey(items: readonly JsonValue[]): string | undefined {
  return keys.find((key) => {
    const values = items.map((item) => (isJsonObject(item) ? item[key] : undefined));
    return values.every((value) => typeof value === "string" && value !== "") && new Set(values).size === values.length;
  });
}

/** A field that differs. */
export interface FieldChange {
  readonly path: string;
  /** Undefined where the field is missing. */
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

/** The fields that differ between two values. */
export function changesBetween(before: JsonValue | undefined, after: JsonValue | undefined, path = ""): FieldChange[] {
  const [old, now] = [leavesOf(before, path), leavesOf(after, path)];
  const paths = [...new Set([...old.keys(), ...now.keys()])].sort();
  return paths
    .map((one) => ({ path: one, before: old.get(one), after: now.get(one) }))
    .filter((change) => !isSame(change.before, change.after));
}

function isSame(before: JsonValue | undefined, after: JsonValue | undefined): boolean {
  return before === undefined || after === undefined ? before === after : jsonEqual(before, after);
}
