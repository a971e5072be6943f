// SPDX-License-Identifier: Apache-2.0
import type { KubeClient } from "@purlin/kube-client";
import { isAlreadyExists, isNotFound } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";

/** Creates a cluster-scoped object unless it exists. */
export async function ensureObject(client: KubeClient, object: KubeObject, signal: AbortSignal): Promise<void> {
  try {
    await client.get(object, { name: object.metadata.name ?? "" }, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await client.create(object, { fieldManager: "crossplane", signal }).catch((failure: unknown) => {
      if (!isAlreadyExists(failure)) throw failure;
    });
  }
}

/** Creates the namespace of packages, their pull secrets and certificates, unless it exists. */
export function ensureNamespace(client: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  return ensureObject(client, { apiVersion: "v1", kind: "Namespace", metadata: { name } }, signal);
}
