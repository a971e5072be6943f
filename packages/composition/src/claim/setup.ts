// SPDX-License-Identifier: Apache-2.0

import type { CacheChange } from "@purlin/kube-client";
import type { WatchSpec } from "@purlin/kube-controller";
import { type KubeObject, type ObjectKey, parseApiVersion } from "@purlin/kube-objects/object";
import { eventSources } from "../composite-resource/constants.ts";
import { claimRefOf } from "../composite-resource/crossplane-fields.ts";
import type { InstanceController } from "../definition/deps.ts";
import type { ClaimDeps, ClaimKind } from "./deps.ts";
import { claimReconciler } from "./reconciler.ts";

/** The controller of the claims that one definition offers. */
export function createClaimController(deps: ClaimDeps): InstanceController {
  const events = deps.events.with(eventSources.claim, `claim/${deps.kind.definition}`);
  return { reconcile: claimReconciler({ ...deps, events }), watches: claimWatches(deps.kind) };
}

/** What wakes a claim: itself, and every change of a composite resource that is, or was, bound to it. */
export function claimWatches({ claimType, compositeType }: ClaimKind): readonly WatchSpec[] {
  const { group } = parseApiVersion(claimType.apiVersion);
  const boundTo = (xr: KubeObject): readonly ObjectKey[] => {
    const ref = claimRefOf(xr, "legacy");
    // Anyone who may write the composite resource writes this reference: a malformed apiVersion must not throw here.
    const isOurs = ref?.kind === claimType.kind && ref.apiVersion.startsWith(`${group}/`);
    return isOurs ? [{ namespace: ref.namespace, name: ref.name }] : [];
  };
  return [
    { type: "Claim", object: claimType, keys: ({ object }) => [keyOfClaim(object)] },
    { type: "CompositeResource", object: compositeType, keys: (change) => versionsOf(change).flatMap(boundTo) },
  ];
}

function keyOfClaim({ metadata }: KubeObject): ObjectKey {
  return { namespace: metadata.namespace, name: metadata.name ?? "" };
}

function versionsOf(change: CacheChange): readonly KubeObject[] {
  return change.type === "updated" ? [change.previous, change.object] : [change.object];
}
