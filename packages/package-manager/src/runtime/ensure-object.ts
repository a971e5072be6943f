// SPDX-License-Identifier: Apache-2.0
import { ignoreNotFound, isAlreadyExists } from "@purlin/kube-objects/errors";
import type { KubeObject, ObjectKey, TypeRef } from "@purlin/kube-objects/object";

/** A client of an API server, with or without caches. */
interface ObjectClient {
  get(type: TypeRef, key: ObjectKey, options: { readonly signal: AbortSignal }): Promise<KubeObject | undefined>;
  create(
    object: KubeObject,
    options: { readonly fieldManager: string; readonly signal: AbortSignal },
  ): Promise<unknown>;
}

/** Creates a cluster-scoped object unless it exists. */
export async function ensureObject(client: ObjectClient, object: KubeObject, signal: AbortSignal): Promise<void> {
  const found = await ignoreNotFound(client.get(object, { name: object.metadata.name ?? "" }, { signal }));
  if (found !== undefined) return;
  try {
    await client.create(object, { fieldManager: "crossplane", signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** Creates the namespace of packages, their pull secrets and certificates, unless it exists. */
export function ensureNamespace(client: ObjectClient, name: string, signal: AbortSignal): Promise<void> {
  return ensureObject(client, { apiVersion: "v1", kind: "Namespace", metadata: { name } }, signal);
}
