// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { secretData } from "@purlin/function-runner";
import type { ControllerClient } from "@purlin/kube-controller";
import { during } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { controllerOf, controllerReference, type KubeObject, memberAt, withOwner } from "@purlin/kube-objects/object";
import { refuseForeignSecret } from "../../composite-resource/connection-secret.ts";
import { connectionSecretType, fieldManagers, kinds } from "../../composite-resource/constants.ts";
import { connectionSecretRefOf } from "../../composite-resource/machinery.ts";
import type { ConnectionDetails } from "../observe/connection-details.ts";

/** What goes into the Secret of an XR. */
interface Publication {
  readonly details: ConnectionDetails;
  /** The keys its definition lets through; none means all. */
  readonly keys: readonly string[];
}

/**
 * Writes connection details to the Secret a legacy XR names. Keys are added and changed, never taken away. Says whether
 * anything was written.
 */
export async function publishConnection(
  xr: KubeObject,
  { details, keys }: Publication,
  client: ControllerClient,
  signal: AbortSignal,
): Promise<boolean> {
  const ref = connectionSecretRefOf(xr, "legacy");
  if (ref === undefined) return false;
  const data = encoded(allowed(details, keys));
  return during("cannot apply connection secret", async () => {
    const existing = await client.get(kinds.secret, ref, { signal });
    if (existing === undefined) return createSecret(xr, data, client, signal);
    refuseForeignSecret(existing, xr);
    if (holds(existing, data) && controllerOf(existing) !== undefined) return false;
    const { ownerReferences = null } = withOwner(existing, controllerReference(xr)).metadata;
    const { resourceVersion = "" } = existing.metadata;
    const patch = { data, metadata: { ownerReferences, resourceVersion } };
    await client.patch({ ...kinds.secret, ...ref }, patch, {
      type: "merge",
      fieldManager: fieldManagers.update,
      signal,
    });
    return true;
  });
}

async function createSecret(
  xr: KubeObject,
  data: JsonObject,
  client: ControllerClient,
  signal: AbortSignal,
): Promise<boolean> {
  const { name = "", namespace = "" } = connectionSecretRefOf(xr, "legacy") ?? {};
  const ownerReferences = [controllerReference(xr)];
  const secret = { ...kinds.secret, metadata: { name, namespace, ownerReferences }, type: connectionSecretType, data };
  await client.create(secret, { fieldManager: fieldManagers.update, signal });
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
