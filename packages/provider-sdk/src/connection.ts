// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient } from "@purlin/kube-controller";
import { during } from "@purlin/kube-objects/errors";
import { jsonEqual } from "@purlin/kube-objects/json";
import { controllerOf, controllerReference, type KubeObject, textAt, textMapAt } from "@purlin/kube-objects/object";
import type { ConnectionDetails } from "./managed-resource.ts";

const secretType = { apiVersion: "v1", kind: "Secret" } as const;
const connectionType = "connection.crossplane.io/v1alpha1";

/** The Secret that a managed resource asks for: in its own namespace, or in a named one if it is cluster-scoped. */
function secretRefOf(object: KubeObject): { readonly name: string; readonly namespace: string } | undefined {
  const path = ["spec", "writeConnectionSecretToRef"];
  const name = textAt(object, [...path, "name"]);
  const namespace = object.metadata.namespace ?? textAt(object, [...path, "namespace"]);
  return name === undefined || namespace === undefined ? undefined : { name, namespace };
}

/** The scope of a publication. */
interface PublishOptions {
  readonly client: ControllerClient;
  readonly fieldManager: string;
  readonly signal: AbortSignal;
}

/**
 * Adds connection details to the Secret of a managed resource, which is created if it does not exist. Keys that were published before
 * stay. The Secret is deleted with the managed resource by garbage collection.
 */
export function publishConnection(
  object: KubeObject,
  details: ConnectionDetails | undefined,
  { client, fieldManager, signal }: PublishOptions,
): Promise<void> {
  const key = secretRefOf(object);
  if (key === undefined) return Promise.resolve();
  return during("cannot create or update connection secret", async () => {
    const existing = await client.get(secretType, key, { signal });
    const added = encoded(details ?? {});
    const options = { fieldManager, signal };
    if (existing === undefined) {
      const metadata = { ...key, ownerReferences: [controllerReference(object)] };
      await client.create({ ...secretType, metadata, type: connectionType, data: added } as KubeObject, options);
      return;
    }
    requireControl(existing, object);
    const before = textMapAt(existing, ["data"]) ?? {};
    const data = { ...before, ...added };
    const metadata = controllerOf(existing)
      ? existing.metadata
      : {
          ...existing.metadata,
          ownerReferences: [...(existing.metadata.ownerReferences ?? []), controllerReference(object)],
        };
    if (jsonEqual(before, data) && metadata === existing.metadata) return;
    await client.update({ ...existing, metadata, data } as KubeObject, options);
  });
}

/** A Secret of another owner, or one that is not for connection details, is never changed. */
function requireControl(secret: KubeObject, owner: KubeObject): void {
  const controller = controllerOf(secret);
  const uid = owner.metadata.uid ?? "";
  if (controller === undefined && secret["type"] !== connectionType) {
    throw new Error(`refusing to modify uncontrolled secret of type "${String(secret["type"])}"`);
  }
  if (controller !== undefined && controller.uid !== uid) {
    throw new Error(`existing secret is not controlled by UID "${uid}"`);
  }
}

function encoded(details: ConnectionDetails): Record<string, string> {
  return Object.fromEntries(
    Object.entries(details).map(([key, value]) => [key, Buffer.from(value as string).toString("base64")]),
  );
}
