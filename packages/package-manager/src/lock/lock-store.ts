// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient } from "@purlin/kube-controller";
import { isAlreadyExists } from "@purlin/kube-objects/errors";
import { jsonEqual } from "@purlin/kube-objects/json";
import { conditionOf, conditionsOf, type KubeObject, withMember } from "@purlin/kube-objects/object";
import { packageFieldManagers } from "../package-deps.ts";
import { otherKinds } from "../package-kinds.ts";
import { type LockEntry, readLock, writeLock } from "./lock-entry.ts";

/** There is one Lock. */
export const lockName = "lock";

/** The prefix of the Lock's condition when dependencies cannot be resolved. */
export const resolutionFailed = "Error occurred during dependency resolution ";

/** Why dependency resolution failed; undefined when it succeeded, or did not run yet. */
export function resolutionProblem(lock: KubeObject): string | undefined {
  const { status, message = "" } = conditionOf(conditionsOf(lock), "Resolved");
  return status === "False" ? message.replace(resolutionFailed, "") : undefined;
}

/** The Lock and its entries. */
interface LockState {
  readonly object: KubeObject;
  readonly entries: readonly LockEntry[];
}

/** Reads the Lock, or creates an empty one. */
export async function getLock(client: ControllerClient, signal: AbortSignal): Promise<LockState> {
  const found = await client.get(otherKinds.lock, { name: lockName }, { signal });
  if (found !== undefined) return { object: found, entries: readLock(found) };
  try {
    const made = await client.create({ ...otherKinds.lock, metadata: { name: lockName } }, { signal });
    return { object: made, entries: [] };
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const object = await client.live.get(otherKinds.lock, { name: lockName }, { signal });
    return { object, entries: readLock(object) };
  }
}

/** Writes the entries, if they differ. A concurrent write makes this a conflict, and the reconcile starts again. */
export async function putLock(
  client: ControllerClient,
  { object, entries }: LockState,
  { next, signal }: { readonly next: readonly LockEntry[]; readonly signal: AbortSignal },
): Promise<LockState> {
  if (jsonEqual(writeLock(entries), writeLock(next))) return { object, entries };
  const changed = withMember(object, ["packages"], writeLock(next));
  const stored = await client.update(changed, { fieldManager: packageFieldManagers.update, signal });
  return { object: stored, entries: next };
}
