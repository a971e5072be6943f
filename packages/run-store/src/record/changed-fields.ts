// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

const enough = 1000;
/** Members that every write changes. */
const bookkeeping: ReadonlySet<string> = new Set(["managedFields", "resourceVersion", "generation"]);

/** How many fields differ between two versions of an object, at most a thousand. */
export function changedFields(before: KubeObject | undefined, after: KubeObject | undefined): number {
  if (before === undefined && after === undefined) return 0;
  return Math.min(enough, count(plain(before), plain(after)));
}

function plain(object: KubeObject | undefined): JsonValue {
  if (object === undefined) return null;
  const metadata = Object.entries(object.metadata).filter(([name]) => !bookkeeping.has(name));
  return { ...object, metadata: Object.fromEntries(metadata) } as JsonValue;
}

function count(before: JsonValue | undefined, after: JsonValue | undefined): number {
  if (before === after) return 0;
  if (!isJsonObject(before ?? null) || !isJsonObject(after ?? null)) {
    if (before !== undefined && after !== undefined && jsonEqual(before, after)) return 0;
    return isJsonObject(before ?? null) || isJsonObject(after ?? null) ? leaves(before ?? after ?? null) : 1;
  }
  const [one, other] = [before as Record<string, JsonValue>, after as Record<string, JsonValue>];
  let changed = 0;
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    changed += count(one[key], other[key]);
    if (changed >= enough) break;
  }
  return changed;
}

function leaves(value: JsonValue): number {
  if (!isJsonObject(value)) return 1;
  let found = 0;
  for (const member of Object.values(value)) {
    found += leaves(member);
    if (found >= enough) break;
  }
  return found;
}
