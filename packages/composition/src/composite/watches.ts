// SPDX-License-Identifier: Apache-2.0

import type { CacheChange } from "@purlin/kube-client/objects";
import type { WatchSpec } from "@purlin/kube-controller";
import {
  isDeleted,
  type KubeObject,
  keyOf,
  keyText,
  labelOf,
  type ObjectKey,
  type TypeRef,
  textAt,
} from "@purlin/kube-objects/object";
import { kinds, labels } from "../composite-resource/constants.ts";
import type { CompositeState } from "./composite-state.ts";
import type { CompositeKind } from "./ports.ts";
import { compositeWatch, dependencyWatch, revisionWatch } from "./watch/watch-types.ts";

/** The watches every composite controller has: on its XRs, and on revisions of Compositions. */
export function baseWatches(kind: CompositeKind, state: CompositeState): readonly WatchSpec[] {
  return [
    { type: compositeWatch, object: kind.type, keys: (change) => keysOfComposite(change, state) },
    { type: revisionWatch, object: kinds.revision, keys: (change) => keysOfRevision(change, kind, state) },
  ];
}

/** A watch on a kind some XRs depend on. */
export function watchOn(type: TypeRef, { breaker, tracker, settling }: CompositeState): WatchSpec {
  const keys = (change: CacheChange): ObjectKey[] => {
    const targets = new Map<string, { key: ObjectKey; sides: 1 | 2 }>();
    for (const object of sidesOf(change)) {
      for (const key of tracker.dependents(object)) {
        const known = targets.get(keyText(key));
        targets.set(keyText(key), { key, sides: known === undefined ? 1 : 2 });
      }
    }
    const woken = [...targets.values()].filter(({ key, sides }) => breaker.admit(key, change.object, sides));
    if (type.kind === kinds.crd.kind && isRedefined(change)) for (const { key } of woken) settling.changed(key);
    return woken.map(({ key }) => key);
  };
  return { type: dependencyWatch, object: type, keys };
}

/** Whether a definition says something else than before. */
function isRedefined(change: CacheChange): boolean {
  return change.type !== "updated" || change.object.metadata.generation !== change.previous.metadata.generation;
}

function keysOfComposite(change: CacheChange, { breaker, users, echoes }: CompositeState): ObjectKey[] {
  users.note(change);
  const { object } = change;
  const key = keyOf(object);
  // One that goes may come back under the same name, and starts afresh then.
  if (change.type === "deleted" || isDeleted(object)) {
    breaker.forget(key);
    return [key];
  }
  return echoes.isNews(change) && admitted(change, { breaker }) ? [key] : [];
}

/** Whether the breaker lets a change of an XR wake it. */
export function admitted({ type, object }: CacheChange, { breaker }: Pick<CompositeState, "breaker">): boolean {
  return breaker.admit(keyOf(object), object, type === "updated" ? 2 : 1);
}

function keysOfRevision(change: CacheChange, { type }: CompositeKind, { breaker, users }: CompositeState): ObjectKey[] {
  const { object } = change;
  const path = ["spec", "compositeTypeRef"];
  const isOurs = textAt(object, [...path, "kind"]) === type.kind;
  if (!isOurs || textAt(object, [...path, "apiVersion"]) !== type.apiVersion) return [];
  const sides = change.type === "updated" ? 2 : 1;
  const composition = labelOf(object, labels.compositionName) ?? "";
  return [...users.of(composition)].filter((key) => breaker.admit(key, object, sides));
}

/** An update concerns whoever depended on the object before as well. */
function sidesOf(change: CacheChange): readonly KubeObject[] {
  return change.type === "updated" ? [change.previous, change.object] : [change.object];
}
