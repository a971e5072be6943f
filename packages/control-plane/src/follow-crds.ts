// SPDX-License-Identifier: Apache-2.0
import type { CacheChange, InformerPool, KubeObject, RestMapper } from "@purlin/kube-client";
import { crdType } from "@purlin/kube-controller";
import { isJsonObject } from "@purlin/kube-objects";

/** What {@link followCrds} keeps up to date. */
export interface CrdFollowers {
  readonly informers: InformerPool;
  readonly mapper: RestMapper;
  /** Told that schemas may have changed. */
  readonly invalidateSchemas: () => void;
}

/**
 * Whatever was learnt about kinds is forgotten when their CRD changes: where their objects live, and what their schemas
 * are. Resolves when the CRDs of now are known; returns how to stop.
 */
export async function followCrds({ informers, mapper, invalidateSchemas }: CrdFollowers): Promise<() => Promise<void>> {
  const { informer, release } = informers.acquire(crdType);
  try {
    await informer.ready();
  } catch (error) {
    await release();
    throw error;
  }
  const unsubscribe = informer.subscribe((change) => {
    invalidateSchemas();
    for (const apiVersion of apiVersionsOf(change)) mapper.forget(apiVersion);
  });
  return async () => {
    unsubscribe();
    await release();
  };
}

function apiVersionsOf(change: CacheChange): Set<string> {
  const crds = change.type === "updated" ? [change.previous, change.object] : [change.object];
  return new Set(crds.flatMap(versionsOf));
}

function versionsOf(crd: KubeObject): string[] {
  const spec = isJsonObject(crd["spec"]) ? crd["spec"] : {};
  const versions = Array.isArray(spec["versions"]) ? spec["versions"].filter(isJsonObject) : [];
  return versions.map(({ name }) => `${spec["group"]}/${name}`);
}
