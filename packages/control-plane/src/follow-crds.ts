// SPDX-License-Identifier: Apache-2.0
import type { CacheChange, InformerPool, KubeObject, RestMapper, TypeRef } from "@purlin/kube-client";
import { crdType } from "@purlin/kube-controller";
import { isJsonObject } from "@purlin/kube-objects";

/** What {@link followCrds} keeps up to date. */
export interface CrdFollowers {
  readonly informers: InformerPool;
  readonly mapper: RestMapper;
  /** Told which kinds may have changed, as `apiVersion/Kind`, and whether their definition is gone. */
  readonly onChange: (kinds: readonly string[], isGone: boolean) => void;
}

/**
 * Whatever was learnt about kinds is forgotten when their CRD changes: where their objects live, and what their schemas
 * are. Resolves when the CRDs of now are known, with how to stop; rejects when the signal aborts before.
 */
export async function followCrds(
  { informers, mapper, onChange }: CrdFollowers,
  signal?: AbortSignal,
): Promise<() => Promise<void>> {
  const { informer, release } = informers.acquire(crdType);
  try {
    await informer.ready(signal);
  } catch (error) {
    await release();
    throw error;
  }
  let isNews = false;
  const unsubscribe = informer.subscribe((change) => {
    // A subscriber is first told of what is there; nobody has learnt anything about that yet.
    if (!isNews) return;
    const served = servedBy(change);
    for (const type of served) {
      mapper.forget(type.apiVersion);
      // Who waits for the kind to come back need not wait for the next try.
      informers
        .peek(type)
        ?.ready()
        .catch(() => {});
    }
    const kinds = served.map(({ apiVersion, kind }) => `${apiVersion}/${kind}`);
    onChange(kinds, change.type === "deleted");
  });
  isNews = true;
  return async () => {
    unsubscribe();
    await release();
  };
}

function servedBy(change: CacheChange): TypeRef[] {
  const crds = change.type === "updated" ? [change.previous, change.object] : [change.object];
  return crds.flatMap(typesOf);
}

function typesOf(crd: KubeObject): TypeRef[] {
  const spec = isJsonObject(crd["spec"]) ? crd["spec"] : {};
  const names = isJsonObject(spec["names"]) ? spec["names"] : {};
  const versions = Array.isArray(spec["versions"]) ? spec["versions"].filter(isJsonObject) : [];
  return versions.map(({ name }) => ({ apiVersion: `${spec["group"]}/${name}`, kind: String(names["kind"]) }));
}
