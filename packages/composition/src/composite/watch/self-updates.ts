// SPDX-License-Identifier: Apache-2.0

import type { CacheChange } from "@purlin/kube-client/objects";
import { type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf, keyText, type ObjectKey, objectAt } from "@purlin/kube-objects/object";
import {
  type CompositeSchema,
  resourceRefsOf,
  withCrossplaneFields,
} from "../../composite-resource/crossplane-fields.ts";

/**
 * The watch events that a reconcile causes by its own writes. It knows what it wrote; another reconcile would run the functions for
 * nothing. A change that functions could react to is not a self-update.
 */
export interface SelfUpdates {
  /** A reconcile begins. Events about its XR may arrive before it knows that it caused them, so they are kept until it ends. */
  begin(xr: ObjectKey): void;
  /** Records a version of an XR that holds nothing its writer did not know. */
  expect(written: KubeObject): void;
  /** Whether a change of an XR should start a reconcile now. Each self-update is recognized once, so that a resync counts as a change. */
  isNews(change: CacheChange): boolean;
  /** The reconcile ended. The kept events that are not self-updates. */
  end(xr: ObjectKey): readonly CacheChange[];
  /** The XR is gone, and the events of the last writes may never come. */
  forget(xr: ObjectKey): void;
}

/** How many versions of one XR are remembered: a reconcile writes three. */
const mostVersions = 8;
/** How many changes of one XR are kept during a reconcile: more than it can cause, so that one of them is not its own. */
const mostKept = 64;

/** Remembers versions until their events come. */
export function createSelfUpdates(): SelfUpdates {
  const expected = new Map<string, Set<string>>();
  const kept = new Map<string, CacheChange[]>();

  function isSelfUpdate({ object }: CacheChange): boolean {
    const key = keyText(keyOf(object));
    const versions = expected.get(key);
    const known = versions?.delete(object.metadata.resourceVersion ?? "") ?? false;
    if (versions?.size === 0) expected.delete(key);
    return known;
  }

  return {
    begin: (xr) => void kept.set(keyText(xr), []),
    expect(written) {
      const key = keyText(keyOf(written));
      const versions = expected.get(key) ?? new Set<string>();
      expected.set(key, versions.add(written.metadata.resourceVersion ?? ""));
      const [oldest] = versions;
      if (versions.size > mostVersions && oldest !== undefined) versions.delete(oldest);
    },
    isNews(change) {
      const key = keyText(keyOf(change.object));
      if (change.type === "deleted") expected.delete(key);
      if (change.type !== "updated") return true;
      if (isSelfUpdate(change)) return false;
      const waiting = kept.get(key);
      if (waiting === undefined) return true;
      if (waiting.push(change) > mostKept) waiting.shift();
      return false;
    },
    end(xr) {
      const key = keyText(xr);
      const waiting = kept.get(key) ?? [];
      kept.delete(key);
      return waiting.filter((change) => !isSelfUpdate(change));
    },
    forget: (xr) => void expected.delete(keyText(xr)),
  };
}

/**
 * Whether storing references only added some. A new resource starts a reconcile by itself; a removed one does not, so the functions must
 * run once more when a reference was removed.
 */
export function onlyAddedReferences(before: KubeObject, stored: KubeObject, schema: CompositeSchema): boolean {
  const now = new Set(resourceRefsOf(stored, schema).map((ref) => JSON.stringify(ref)));
  const kept = resourceRefsOf(before, schema).every((ref) => now.has(JSON.stringify(ref)));
  return kept && jsonEqual(withoutBookkeeping(before, schema), withoutBookkeeping(stored, schema));
}

/** Whether writing the status changed only conditions. */
export function onlyConditions(before: KubeObject, stored: KubeObject, schema: CompositeSchema): boolean {
  const same = jsonEqual(withoutConditions(before), withoutConditions(stored));
  return same && jsonEqual(withoutBookkeeping(before, schema), withoutBookkeeping(stored, schema));
}

function withoutConditions(xr: KubeObject): JsonValue {
  const { conditions: _, ...rest } = objectAt(xr, ["status"]);
  return rest;
}

function withoutBookkeeping(xr: KubeObject, schema: CompositeSchema): JsonValue {
  const { status: _status, metadata, ...rest } = withCrossplaneFields(xr, schema, { resourceRefs: undefined });
  const { resourceVersion: _version, managedFields: _managed, generation: _generation, ...kept } = metadata;
  return { ...rest, metadata: kept };
}
