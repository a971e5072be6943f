// SPDX-License-Identifier: Apache-2.0
import { isNoMatch, type KubeClient } from "@purlin/kube-client";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { UserError } from "../user-error.ts";

/** The kind of rollouts. */
export const rolloutType: TypeRef = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };

/** A rollout by name. Throws a UserError that says which there are. */
export async function readRollout(client: KubeClient, name: string, signal: AbortSignal): Promise<KubeObject> {
  try {
    return await client.get(rolloutType, { name }, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw explained(error);
    const names = (await listRollouts(client, signal)).map(({ metadata }) => metadata.name ?? "");
    const known = names.length === 0 ? "there are none" : `there are ${names.join(", ")}`;
    throw new UserError(`FunctionRollout "${name}" not found: ${known}`);
  }
}

/** All rollouts, the newest first. */
export async function listRollouts(client: KubeClient, signal: AbortSignal): Promise<readonly KubeObject[]> {
  try {
    const { items } = await client.list(rolloutType, { signal });
    return items.toSorted((a, b) =>
      (a.metadata.creationTimestamp ?? "") < (b.metadata.creationTimestamp ?? "") ? 1 : -1,
    );
  } catch (error) {
    throw explained(error);
  }
}

/** A server without the kind was started without the flag. */
export function explained(error: unknown): unknown {
  if (!isNoMatch(error)) return error;
  return new UserError("the control plane does not serve FunctionRollout: start it with --enable-function-rollouts");
}

/** Changes a rollout. */
export async function patchRollout(client: KubeClient, name: string, patch: JsonObject): Promise<void> {
  await client.patch({ ...rolloutType, name }, patch as JsonValue, { type: "merge" });
}
