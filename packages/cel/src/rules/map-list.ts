// SPDX-License-Identifier: Apache-2.0
import type { Schema } from "@purlin/kube-objects/schema";
import { isRawObject } from "../schema/raw-json.ts";

/** Finds the element with the same key as another; undefined without such an element. */
export type MapList = (element: unknown) => unknown;

const isScalar = (value: unknown): boolean => ["string", "number", "bigint", "boolean"].includes(typeof value);

/** The elements of a list by the key its schema names. Lists of other types have no keys, so nothing is found in them. */
export function createMapList(schema: Schema, elements: readonly unknown[] | undefined): MapList {
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  if (schema["x-kubernetes-list-type"] !== "map" || keys.length === 0 || !elements) return () => undefined;
  const byKey = new Map<string, unknown>();
  for (const element of elements) {
    const key = keyOf(element, keys);
    // Of elements with the same key the first one counts.
    if (key !== undefined && !byKey.has(key)) byKey.set(key, element);
  }
  return (element) => {
    const key = keyOf(element, keys);
    return key === undefined ? undefined : byKey.get(key);
  };
}

function keyOf(element: unknown, keys: readonly string[]): string | undefined {
  if (!isRawObject(element)) return undefined;
  const parts: string[] = [];
  for (const key of keys) {
    const value = element[key];
    if (!Object.hasOwn(element, key) || !isScalar(value)) return undefined;
    parts.push(typeof value === "string" ? `"${value}` : String(value));
  }
  return parts.join("\0");
}
