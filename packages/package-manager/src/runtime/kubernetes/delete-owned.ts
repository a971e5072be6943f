// SPDX-License-Identifier: Apache-2.0

import type { CacheChange, InformerPool } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import { isConflict, isNotFound } from "@purlin/kube-objects/errors";
import { controllerOf, isControlledBy, isDeleted, type KubeObject } from "@purlin/kube-objects/object";
import { type PackageType, packageTypes } from "../../package-kinds.ts";
import { runtimeKinds } from "./runtime-names.ts";

/** The owner and namespace of objects. */
export interface Ownership {
  readonly objects: ControllerClient;
  readonly namespace: string;
  /** The uid of the revision that controls them. */
  readonly uid: string | undefined;
  readonly signal: AbortSignal;
}

/** The objects of a kind that a revision controls, except those being deleted. */
export async function ownedObjects(
  { objects, namespace, uid, signal }: Ownership,
  kind: keyof typeof runtimeKinds,
): Promise<readonly KubeObject[]> {
  const all = await objects.list(runtimeKinds[kind], { namespace, signal });
  return all.filter((object) => isControlledBy(object, uid) && !isDeleted(object));
}

/** Deletes an object if it still has the uid that was read. */
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
 * Calls the listener whenever an object of the runtime of a revision changes: its Deployment, Service, ServiceAccount or Secrets.
 * `kind` is the kind of the object. The result ends that.
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
