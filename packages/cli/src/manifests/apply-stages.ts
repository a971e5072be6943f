// SPDX-License-Identifier: Apache-2.0
import type { TypeRef } from "@purlin/kube-objects/object";
import type { Manifest } from "./manifest.ts";

/** What has to be there before what, by group and kind; everything else comes last. */
const stages: readonly (readonly string[])[] = [
  ["/Namespace", "apiextensions.k8s.io/CustomResourceDefinition"],
  ["apiextensions.crossplane.io/CompositeResourceDefinition"],
  ["pkg.crossplane.io/*"],
  ["apiextensions.crossplane.io/Composition"],
  // What compositions and their functions may read, before anything is composed.
  ["/ConfigMap", "/Secret", "apiextensions.crossplane.io/EnvironmentConfig"],
];

/** Manifests in the order in which they can be applied: what defines first, what is defined last. Else as written. */
export function inApplyOrder(manifests: readonly Manifest[]): Manifest[] {
  return manifests
    .map((manifest, index) => ({ manifest, index, stage: stageOf(manifest.object) }))
    .sort((a, b) => a.stage - b.stage || a.index - b.index)
    .map(({ manifest }) => manifest);
}

function stageOf({ apiVersion, kind }: TypeRef): number {
  const group = apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
  const stage = stages.findIndex((kinds) => kinds.includes(`${group}/${kind}`) || kinds.includes(`${group}/*`));
  return stage === -1 ? stages.length : stage;
}
