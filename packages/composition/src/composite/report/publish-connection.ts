// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { secretData } from "@purlin/function-runner";
import { during } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { controllerOf, controllerReference, type KubeObject, memberAt, withOwner } from "@purlin/kube-objects/object";
import { refuseForeignSecret } from "../../composite-resource/connection-secret.ts";
import { connectionSecretType, fieldManagers, kinds } from "../../composite-resource/constants.ts";
import { connectionSecretRefOf } from "../../composite-resource/crossplane-fields.ts";
import type { CompositeContext } from "../context.ts";
import type { ConnectionDetails } from "../observe/observe.ts";

/**
 * Writes connection details to the Secret a legacy XR names. Keys are added and changed, never removed. Resolves to whether
 * anything was written.
 */
export async function publishConnection(details: ConnectionDetails, context: CompositeContext): Promise<boolean> {
  const { deps, definition, stored, signal } = context;
  const { client } = deps;
  const xr = stored.object;
  const ref = connectionSecretRefOf(xr, deps.kind.schema);
  if (ref === undefined) return false;
  const data = encoded(allowed(details, definition.require().connectionSecretKeys));
  return during("cannot apply connection secret", async () => {
    const existing = await client.get(kinds.secret, ref, { signal });
    if (existing === undefined) return createSecret(data, context);
    refuseForeignSecret(existing, xr);
    if (holds(existing, data) && controllerOf(existing) !== undefined) return false;
    const { resourceVersion = "" } = existing.metadata;
    const { ownerReferences = null } = withOwner(existing, controllerReference(xr)).metadata;
    const patch = { data, metadata: { ownerReferences, resourceVersion } };
    const options = { type: "merge", fieldManager: fieldManagers.update, signal } as const;
    await client.patch({ ...kinds.secret, ...ref }, patch, options);
    return true;
  });
}

async function createSecret(data: JsonObject, { deps, stored, signal }: CompositeContext): Promise<boolean> {
  const { name = "", namespace = "" } = connectionSecretRefOf(stored.object, "legacy") ?? {};
  const ownerReferences = [controllerReference(stored.object)];
  const secret = { ...kinds.secret, metadata: { name, namespace, ownerReferences }, type: connectionSecretType, data };
  await deps.client.create(secret, { fieldManager: fieldManagers.update, signal });
  return true;
}

function allowed(details: ConnectionDetails, keys: readonly string[]): ConnectionDetails {
  if (keys.length === 0) return details;
  const wanted = new Set(keys);
  return new Map([...details].filter(([key]) => wanted.has(key)));
}

function encoded(details: ConnectionDetails): JsonObject {
  return Object.fromEntries([...details].map(([key, bytes]) => [key, Buffer.from(bytes).toString("base64")]));
}

/** A key that functions no longer return stays in the Secret, so it must not count as a difference. */
function holds(secret: KubeObject, data: JsonObject): boolean {
  const stored = secretData({ data: memberAt(secret, ["data"]) ?? {} });
  return Object.entries(data).every(([key, value]) => {
    const bytes = stored.get(key);
    return bytes !== undefined && Buffer.from(bytes).toString("base64") === value;
  });
}
