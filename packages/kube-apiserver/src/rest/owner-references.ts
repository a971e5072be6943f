// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import type { OwnerReference } from "@purlin/kube-objects/object";
import { metaOf, withMeta } from "../objects/object-meta.ts";

/** The object with every owner once, and a warning about those that came twice. */
export function dedupedOwners(object: JsonObject): {
  readonly object: JsonObject;
  readonly warnings: readonly string[];
} {
  const owners = metaOf(object).ownerReferences ?? [];
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
