// SPDX-License-Identifier: Apache-2.0

import type { CacheChange, InformerPool } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import { isConflict, isNotFound } from "@purlin/kube-objects/errors";
import { controllerOf, isControlledBy, isDeleted, type KubeObject } from "@purlin/kube-objects/object";
import { type PackageType, packageTypes } from "../../package-kinds.ts";
import { runtimeKinds } from "./kubernetes-runtime-options.ts";

/** Whose objects are meant, and where they are. */
export interface Ownership {
  readonly objects: ControllerClient;
  readonly namespace: string;
  /** The uid of the revision that controls them. */
  readonly uid: string | undefined;
  readonly signal: AbortSignal;
}

/** The objects of a kind that a revision controls, those on their way out apart. */
export async function ownedObjects(
  { objects, namespace, uid, signal }: Ownership,
  kind: keyof typeof runtimeKinds,
): Promise<readonly KubeObject[]> {
  const all = await objects.list(runtimeKinds[kind], { namespace, signal });
  return all.filter((object) => isControlledBy(object, uid) && !isDeleted(object));
}

/** Deletes an object, if it is still the one that was looked at: what took its name meanwhile is another's. */
export async function deleteExactly({ objects, signal }: Ownership, object: KubeObject): Promise<void> {
  const { apiVersion, kind, metadata } = object;
  const { name = "", namespace, uid } = metadata;
  try {
    await objects.delete(
      { apiVersion, kind, name, namespace },
      { preconditions: { uid: uid ?? "" }, propagationPolicy: "Background", signal },
    );
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

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
