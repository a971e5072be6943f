// SPDX-License-Identifier: Apache-2.0
import type { CacheChange, InformerPool } from "@purlin/kube-client";
import { controllerOf } from "@purlin/kube-objects/object";
import { type PackageType, packageTypes } from "../../package-kinds.ts";
import { runtimeKinds } from "./runtime-kinds.ts";

/**
 * Tells whenever something changes that the runtime of a revision owns: its Deployment, Service, ServiceAccount or
 * Secrets. `kind` is what of it. Returns how to stop.
 */
export function followOwned(
  informers: InformerPool,
  changed: (type: PackageType, revision: string, kind: string) => void,
): () => Promise<void> {
  const types = Object.values(packageTypes).filter(({ hasRuntime }) => hasRuntime);
  const tell = ({ object }: CacheChange): void => {
    const owner = controllerOf(object);
    const type = types.find(
      ({ revision }) => revision.kind === owner?.kind && revision.apiVersion === owner.apiVersion,
    );
    if (type !== undefined && owner !== undefined) changed(type, owner.name, object.kind);
  };
  const leases = Object.values(runtimeKinds).map((kind) => {
    const lease = informers.acquire(kind);
    return { lease, unsubscribe: lease.informer.subscribe(tell) };
  });
  return async () => {
    for (const { lease, unsubscribe } of leases) {
      unsubscribe();
      await lease.release();
    }
  };
}
