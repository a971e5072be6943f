// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonValue, ownValue, setOwnValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

/**
 * What applying an object to a stored one makes of it without a schema: objects merge, the rest is replaced. A subresource
 * has one writer here, so what an apply leaves out of it goes.
 */
export function mergeApplied(stored: KubeObject | undefined, wanted: KubeObject, subresource: string): KubeObject {
  if (subresource !== "") return { ...(stored ?? wanted), [subresource]: wanted[subresource] ?? {} };
  return merge(stored ?? {}, wanted) as KubeObject;
}

/** One value merged into another: members of objects one by one, everything else replaced. */
export function merge(stored: JsonValue | undefined, wanted: JsonValue): JsonValue {
  if (!isJsonObject(stored) || !isJsonObject(wanted)) return wanted;
  const merged = { ...stored };
  for (const [key, value] of Object.entries(wanted)) setOwnValue(merged, key, merge(ownValue(stored, key), value));
  return merged;
}
