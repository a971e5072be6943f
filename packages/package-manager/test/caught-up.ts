// SPDX-License-Identifier: Apache-2.0
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import type { PackageCluster } from "./package-cluster.ts";

/** Waits until the caches that controllers read have heard of everything that is stored of some kinds. */
export async function caughtUp(
  cluster: Pick<PackageCluster, "kube" | "client">,
  types: readonly TypeRef[],
): Promise<void> {
  for (const type of types) {
    for (;;) {
      const [live, cached] = [(await cluster.kube.list(type)).items, await cluster.client.list(type)];
      if (versions(live) === versions(cached)) break;
      await new Promise((go) => setImmediate(go));
    }
  }
}

function versions(objects: readonly KubeObject[]): string {
  const versions = objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
  return versions.toSorted().join();
}
