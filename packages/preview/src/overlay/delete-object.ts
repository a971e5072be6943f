// SPDX-License-Identifier: Apache-2.0
import type { DeleteOptions } from "@purlin/kube-client";
import { conflict, isForbidden, notFound, textOf } from "@purlin/kube-objects/errors";
import { type KubeObject, keyOf, type ObjectKey, parseApiVersion, type TypeRef } from "@purlin/kube-objects/object";
import { identityAt } from "./live-reads.ts";
import type { Overlay } from "./overlay.ts";

const foreground = "foregroundDeletion";
const deletedAt = "2024-01-01T00:00:00Z";

/**
 * Deletes an object of the overlay. The live server judges a dry run first: a webhook or a Usage may refuse it. What holds the object, its
 * finalizers and those that the propagation policy adds, holds it here too.
 */
export async function deleteObject(
  overlay: Overlay,
  type: TypeRef & ObjectKey,
  options: DeleteOptions,
): Promise<KubeObject | undefined> {
  const { apiVersion, kind, namespace, name } = type;
  const target: KubeObject = { apiVersion, kind, metadata: { name, ...(namespace && { namespace }) } };
  const current = await overlay.get(target, keyOf(target), options.signal);
  const resource = { group: parseApiVersion(apiVersion).group, resource: kind.toLowerCase() };
  if (current === undefined) throw notFound(resource, name);
  const { uid } = options.preconditions ?? {};
  if (uid !== undefined && uid !== current.metadata.uid)
    throw conflict(
      resource,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${current.metadata.uid}). The object might have been deleted and then recreated`,
    );
  await judgeDelete(overlay, target, options);
  const entry = await overlay.touch(target);
  const { deletionTimestamp } = current.metadata;
  const finalizers = current.metadata.finalizers ?? [];
  const held =
    options.propagationPolicy === "Foreground" && !finalizers.includes(foreground)
      ? [...finalizers, foreground]
      : finalizers;
  if (held.length === 0) {
    overlay.remove(target);
    return undefined;
  }
  if (deletionTimestamp && held === finalizers) return entry.now;
  const metadata = {
    ...current.metadata,
    finalizers: [...held],
    deletionTimestamp: deletionTimestamp ?? deletedAt,
    deletionGracePeriodSeconds: 0,
  };
  return overlay.store(target, { ...current, metadata });
}

async function judgeDelete(overlay: Overlay, target: KubeObject, { signal }: DeleteOptions): Promise<void> {
  const before = overlay.entries.get(identityAt(target, keyOf(target)))?.before;
  const isServed = await overlay.live.serves(target, signal);
  const stored = before ?? (isServed ? await overlay.live.get(target, keyOf(target), signal) : undefined);
  if (stored === undefined || stored.metadata.deletionTimestamp) return;
  try {
    await overlay.live.client.delete({ ...target, ...keyOf(target) }, { dryRun: true, signal });
  } catch (error) {
    const entry = await overlay.touch(target);
    if (isForbidden(error) && !/denied|usage|in-use/i.test(textOf(error))) {
      entry.approximate.add("forbidden");
      return;
    }
    entry.refusal = { text: textOf(error), isInvalid: false };
    throw error;
  }
}

/**
 * Plays the garbage collector once: what only deleted objects own is deleted, and what waited for its dependents goes with the last of
 * them. Resolves to whether anything changed.
 */
export async function collectGarbage(
  overlay: Overlay,
  dependentsOf: (owner: KubeObject) => Promise<readonly KubeObject[]>,
): Promise<boolean> {
  let changed = false;
  for (const entry of [...overlay.entries.values()]) {
    const { before, now } = entry;
    const isWaiting =
      now?.metadata.finalizers?.includes(foreground) === true && now.metadata.deletionTimestamp !== undefined;
    const owner = now ?? before;
    if (owner === undefined || (now !== undefined && !isWaiting)) continue;
    const dependents = (await dependentsOf(owner)).filter(({ metadata }) =>
      metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid),
    );
    for (const one of dependents) {
      // What was refused once stays: a Usage protects it, or a policy does.
      const isRefused = overlay.entries.get(identityAt(one, keyOf(one)))?.refusal !== undefined;
      if (one.metadata.deletionTimestamp || isRefused) continue;
      changed = (await isDeleted(overlay, one, isWaiting ? { propagationPolicy: "Foreground" } : {})) || changed;
    }
    if (now !== undefined && isWaiting && dependents.length === 0) {
      const finalizers = (now.metadata.finalizers ?? []).filter((name) => name !== foreground);
      await overlay.store(now, { ...now, metadata: { ...now.metadata, finalizers } });
      changed = true;
    }
  }
  return changed;
}

/** Deletes an object; resolves to whether that was allowed. */
async function isDeleted(overlay: Overlay, object: KubeObject, options: DeleteOptions): Promise<boolean> {
  const { apiVersion, kind } = object;
  try {
    await deleteObject(overlay, { apiVersion, kind, ...keyOf(object) }, options);
    return true;
  } catch {
    return false;
  }
}
