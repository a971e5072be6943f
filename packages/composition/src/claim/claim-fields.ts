// SPDX-License-Identifier: Apache-2.0
// Which fields of a claim belong to its composite resource, and which come back.

import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, objectAt } from "@purlin/kube-objects/object";
import { annotations, labels } from "../composite-resource/constants.ts";
import type { ClaimRef } from "../composite-resource/machinery.ts";

/** The reference from a composite resource to this claim. */
export function claimRefTo({ apiVersion, kind, metadata }: KubeObject): ClaimRef {
  return { apiVersion, kind, namespace: metadata.namespace ?? "", name: metadata.name ?? "" };
}

/** Keys that tools of Kubernetes use for the claim itself: what is before the first slash ends like theirs. */
function isReserved(key: string): boolean {
  const prefix = key.split("/", 1)[0] ?? "";
  return prefix.endsWith("kubernetes.io") || prefix.endsWith("k8s.io");
}

function withoutReserved(map: JsonObject): Readonly<Record<string, string>> {
  const kept = Object.entries(map).filter(([key]) => !isReserved(key));
  return Object.fromEntries(kept) as Record<string, string>;
}

/** The labels of a claim's composite resource, as far as the claim decides. */
export function labelsFor(claim: KubeObject): Readonly<Record<string, string>> {
  const { name = "", namespace = "" } = claim.metadata;
  const own = { [labels.claimName]: name, [labels.claimNamespace]: namespace };
  return { ...withoutReserved(objectAt(claim, ["metadata", "labels"])), ...own };
}

/** The annotations of a claim's composite resource, as far as the claim decides. An external name it has is its own. */
export function annotationsFor(claim: KubeObject, externalName: string | undefined): Readonly<Record<string, string>> {
  const kept = withoutReserved(objectAt(claim, ["metadata", "annotations"]));
  return externalName === undefined ? kept : { ...kept, [annotations.externalName]: externalName };
}

/** Fields of claims that mean something for the claim alone, or would pass for the composite resource's own. */
const claimOnly = [
  "compositeDeletePolicy",
  "resourceRef",
  "writeConnectionSecretToRef",
  "compositionRevisionRef",
  "resourceRefs",
  "claimRef",
];

/** What a claim's spec says about its composite resource, references to revisions apart. */
export function specFor(claim: KubeObject, isCompositionEnforced: boolean): JsonObject {
  const dropped = new Set(isCompositionEnforced ? [...claimOnly, "compositionRef"] : claimOnly);
  return Object.fromEntries(Object.entries(objectAt(claim, ["spec"])).filter(([key]) => !dropped.has(key)));
}

/** Fields of a composite resource's spec that never come back to its claim. */
export const compositeOnly: readonly string[] = ["claimRef", "resourceRefs", "writeConnectionSecretToRef"];
