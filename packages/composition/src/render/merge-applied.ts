// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-client/objects";
import { isJsonObject, type JsonObject, type JsonValue, ownValue, setOwnValue } from "@purlin/kube-objects";

/** What applying an object to a stored one makes of it where nobody knows its schema: objects merge, the rest is replaced. */
export function mergeApplied(stored: KubeObject | undefined, wanted: KubeObject, subresource: string): KubeObject {
  const part = subresource === "" ? wanted : (pick(wanted, subresource) as unknown as KubeObject);
  return merge((stored ?? {}) as unknown as JsonObject, part as unknown as JsonObject) as unknown as KubeObject;
}

/** Through a subresource nothing else is taken. */
function pick({ apiVersion, kind, metadata, ...rest }: KubeObject, subresource: string): JsonObject {
  const { name, namespace } = metadata;
  const identity = { apiVersion, kind, metadata: { name, ...(namespace ? { namespace } : {}) } };
  return { ...identity, [subresource]: rest[subresource] ?? {} } as unknown as JsonObject;
}

function merge(stored: JsonValue | undefined, wanted: JsonValue): JsonValue {
  if (!isJsonObject(stored) || !isJsonObject(wanted)) return wanted;
  const merged = { ...stored };
  for (const [key, value] of Object.entries(wanted)) setOwnValue(merged, key, merge(ownValue(stored, key), value));
  return merged;
}
