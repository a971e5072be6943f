// SPDX-License-Identifier: Apache-2.0

import type { CacheChange } from "@purlin/kube-client/objects";
import { type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf, keyText, type ObjectKey, objectAt } from "@purlin/kube-objects/object";
import { type CompositeSchema, resourceRefsOf, withMachinery } from "../../composite-resource/machinery.ts";

/**
 * The events our own writes cause. A pass knows what it writes; being woken by that would run the functions once more for
 * nothing. Whatever might tell functions something new is no echo.
 */
export interface OwnEchoes {
  /** A pass begins. Events about its XR may come before it knows that it caused them, so they are kept until it ends. */
  begin(xr: ObjectKey): void;
  /** A version of an XR that holds nothing its writer did not know. */
  expect(written: KubeObject): void;
  /** Whether a change of an XR should wake somebody now. Each echo is recognized once, so that a resync is none. */
  isNews(change: CacheChange): boolean;
  /** The pass ended. What was kept and is news. */
  end(xr: ObjectKey): readonly CacheChange[];
  /** The XR is gone, and the events of what was written last may never come. */
  forget(xr: ObjectKey): void;
}

/** How many versions of one XR may be waited for: a pass writes three. */
const mostVersions = 8;
/** How many changes of one XR are kept while a pass runs: more than it can have caused, so that one of them is news. */
const mostKept = 64;

/** Remembers versions until their events come. */
export function createOwnEchoes(): OwnEchoes {
  const expected = new Map<string, Set<string>>();
  const kept = new Map<string, CacheChange[]>();

  function isEcho({ object }: CacheChange): boolean {
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
      if (isEcho(change)) return false;
      const waiting = kept.get(key);
      if (waiting === undefined) return true;
      if (waiting.push(change) > mostKept) waiting.shift();
      return false;
    },
    end(xr) {
      const key = keyText(xr);
      const waiting = kept.get(key) ?? [];
      kept.delete(key);
      return waiting.filter((change) => !isEcho(change));
    },
    forget: (xr) => void expected.delete(keyText(xr)),
  };
}

/**
 * Whether storing references made the only news. What is made next wakes the XR by itself; what is no longer referred to
 * does not, so functions must be asked once more when something went.
 */
export function onlyAddedReferences(before: KubeObject, stored: KubeObject, schema: CompositeSchema): boolean {
  const now = new Set(resourceRefsOf(stored, schema).map((ref) => JSON.stringify(ref)));
  const kept = resourceRefsOf(before, schema).every((ref) => now.has(JSON.stringify(ref)));
  return kept && jsonEqual(withoutBookkeeping(before, schema), withoutBookkeeping(stored, schema));
}

/** Whether writing the status changed nothing but conditions. */
export function onlyConditions(before: KubeObject, stored: KubeObject, schema: CompositeSchema): boolean {
  const same = jsonEqual(withoutConditions(before), withoutConditions(stored));
  return same && jsonEqual(withoutBookkeeping(before, schema), withoutBookkeeping(stored, schema));
}

function withoutConditions(xr: KubeObject): JsonValue {
  const { conditions: _, ...rest } = objectAt(xr, ["status"]);
  return rest;
}

function withoutBookkeeping(xr: KubeObject, schema: CompositeSchema): JsonValue {
  const { status: _status, metadata, ...rest } = withMachinery(xr, schema, { resourceRefs: undefined });
  const { resourceVersion: _version, managedFields: _managed, generation: _generation, ...kept } = metadata;
  return { ...rest, metadata: kept };
}
