// SPDX-License-Identifier: Apache-2.0
import type { CacheChange } from "@purlin/kube-client/objects";
import { type KubeObject, keyOf, keyText, type ObjectKey } from "@purlin/kube-objects/object";
import {
  type CompositeSchema,
  compositionRefOf,
  revisionSelectorOf,
  updatePolicyOf,
} from "../../composite-resource/machinery.ts";

/** Knows which XRs want to hear about new revisions of a Composition, without looking at all XRs. */
export interface CompositionUsers {
  /** Takes note of a change of an XR. */
  note(change: CacheChange): void;
  of(composition: string): Iterable<ObjectKey>;
}

/** XRs follow their Composition unless they are pinned; one with a revision selector may move although it is pinned. */
export function createCompositionUsers(schema: CompositeSchema): CompositionUsers {
  const users = new Map<string, Map<string, ObjectKey>>();
  const followed = new Map<string, string>();

  function leave(key: string): void {
    const composition = followed.get(key);
    if (composition === undefined) return;
    const group = users.get(composition);
    group?.delete(key);
    if (group?.size === 0) users.delete(composition);
    followed.delete(key);
  }

  return {
    note({ type, object }) {
      const key = keyText(keyOf(object));
      const composition = type === "deleted" ? undefined : followedBy(object, schema);
      if (followed.get(key) === composition) return;
      leave(key);
      if (composition === undefined) return;
      followed.set(key, composition);
      const group = users.get(composition) ?? new Map<string, ObjectKey>();
      users.set(composition, group.set(key, keyOf(object)));
    },
    of: (composition) => users.get(composition)?.values() ?? [],
  };
}

function followedBy(xr: KubeObject, schema: CompositeSchema): string | undefined {
  const isPinned = updatePolicyOf(xr, schema) === "Manual" && revisionSelectorOf(xr, schema) === undefined;
  return isPinned ? undefined : compositionRefOf(xr, schema);
}
