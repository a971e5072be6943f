// SPDX-License-Identifier: Apache-2.0
// What happens when a Usage is deleted: the used object is released, and a deletion that was refused is made again.

import { isNoMatch } from "@purlin/kube-client/objects";
import { attempt, type ReconcileContext, type ReconcileResult } from "@purlin/kube-controller";
import { conflict, ignoreNotFound, isForbidden, isInvalid, isNotFound, textOf } from "@purlin/kube-objects/errors";
import {
  annotationOf,
  controllerOf,
  type KubeObject,
  keyOf,
  memberAt,
  parseApiVersion,
  withMember,
  withoutFinalizer,
} from "@purlin/kube-objects/object";
import { fieldManagers } from "../composite-resource/constants.ts";
import {
  attemptAnnotation,
  attemptByAnnotation,
  attemptUidAnnotation,
  byGarbageCollector,
} from "./definition-guard.ts";
import {
  releasedAnnotation,
  targetOf,
  type UsageEntry,
  type UsageIndex,
  usageEntry,
  usageTypes,
} from "./usage-index.ts";
import {
  inUseLabel,
  NoNamespaceError,
  readSide,
  type Side,
  sideName,
  sideType,
  type UsageObjectDeps,
  WrongScopeError,
} from "./usage-objects.ts";

/** The finalizer of all kinds of Usages. */
export const usageFinalizer = "usage.apiextensions.crossplane.io";

const waitMs = 30_000;

interface ReleaseDeps extends UsageObjectDeps {
  readonly index: UsageIndex;
  /** The key of the Usage in the index. */
  readonly indexKey: string;
}

/** Releases the used object and lets the Usage go; asks for another reconcile while a composed Usage has to wait for the using object. */
export async function releaseUsage(context: ReconcileContext, deps: ReleaseDeps): Promise<ReconcileResult> {
  const usage = context.stored.object;
  if (await mustWait(usageEntry(deps.indexKey, usage), usage, deps)) {
    const kind = sideType(usage, "by").kind;
    context.emit({
      reason: "WaitingUsingDeleted",
      message: `Waiting for the using resource (which is a "${kind}" named "${sideName(usage, "by")}") to be deleted.`,
    });
    return { requeueAfterMs: waitMs };
  }
  // The last refused deletion may be newer than the cache.
  const used = await attempt({ reason: "GetUsedResource", text: "cannot get used" }, () =>
    find(usage, "of", { ...deps, isLive: true }),
  );
  if (used !== undefined) await releaseUsed(context, used, deps);
  await attempt({ reason: "RemoveFinalizer", text: "cannot remove finalizer: cannot update object" }, () =>
    store(context, withoutFinalizer(context.stored.object, usageFinalizer), deps),
  );
  return {};
}

/**
 * A composed Usage is deleted together with the using object, and holds the used one until that is gone. It does not wait for its own
 * composite resource, which waits for the Usage, nor for a using object that Usages protect which wait for this one.
 */
async function mustWait(entry: UsageEntry, usage: KubeObject, deps: ReleaseDeps): Promise<boolean> {
  if (!entry.isComposed || entry.by === undefined) return false;
  const using = await attempt({ reason: "GetUsingResource", text: "cannot get using" }, () => find(usage, "by", deps));
  if (using === undefined || using.metadata.uid === controllerOf(usage)?.uid) return false;
  return !deps.index.isCircular(entry);
}

/** The object at a side; undefined when it, or its kind, does not exist. */
async function find(usage: KubeObject, side: Side, deps: UsageObjectDeps): Promise<KubeObject | undefined> {
  if (sideName(usage, side) === "") return undefined;
  try {
    return await readSide(usage, side, deps);
  } catch (error) {
    // What this Usage can never have protected is not there for it.
    if (
      isNotFound(error) ||
      isNoMatch(error) ||
      error instanceof WrongScopeError ||
      error instanceof NoNamespaceError
    ) {
      return undefined;
    }
    throw error;
  }
}

async function releaseUsed(context: ReconcileContext, used: KubeObject, deps: ReleaseDeps): Promise<void> {
  if (await isHeldByOthers(used, deps)) return;
  const released = await removeLabel(used, deps);
  if (released === undefined) return;
  // A Usage that was created meanwhile has seen the label, and does not look again soon where its kind is not watched.
  if (await isHeldByOthers(released, deps)) {
    await attempt({ reason: "AddInUseLabel", text: "cannot add in use label to the used resource" }, () =>
      ignoreNotFound(patchLabel(released, "true", deps)),
    );
    return;
  }
  if (!(await isReplayed(context.stored.object, released, deps))) return;
  // Survives a crash: the Usage stays until the object is deleted, and does not forbid it any longer.
  await attempt({ reason: "ReplayDeletion", text: "cannot release the used resource" }, () =>
    store(context, withMember(context.stored.object, ["metadata", "annotations", releasedAnnotation], "true"), deps),
  );
  // Without the label, a cluster does not ask the webhook: a Usage that was created meanwhile must be seen here. One that is seen later
  // has yet to set the label, which changes the resource version that the deletion requires.
  if (await isHeldByOthers(released, deps)) return;
  await attempt({ reason: "ReplayDeletion", text: "cannot delete the used resource" }, () => replay(released, deps));
  context.emit({
    reason: "ReplayDeletion",
    message: `Deleted ${used.kind}/${used.metadata.name ?? ""} as asked before`,
  });
}

/** The object without the label; undefined when it is gone. */
async function removeLabel(used: KubeObject, deps: UsageObjectDeps): Promise<KubeObject | undefined> {
  if (used.metadata.labels?.[inUseLabel] === undefined) return used;
  return attempt({ reason: "RemoveInUseLabel", text: "cannot remove in use label from the used resource" }, () =>
    ignoreNotFound(patchLabel(used, null, deps)),
  );
}

/** Whether other Usages hold an object. One that is being deleted as well, and waits for nothing, does not. */
async function isHeldByOthers(used: KubeObject, deps: ReleaseDeps): Promise<boolean> {
  const { index, client, signal } = deps;
  for (const entry of index.holders(targetOf(used))) {
    if (entry.key === deps.indexKey) continue;
    if (!entry.isDeleting) return true;
    // It waits for nothing, and need not be read: thousands of Usages of one object may be deleted together.
    if (!entry.isComposed || entry.by === undefined) continue;
    const type = usageTypes.find(
      ({ apiVersion, kind }) => kind === entry.self.kind && parseApiVersion(apiVersion).group === entry.self.group,
    );
    const { name, namespace } = entry.self;
    const other = type && (await client.get(type, namespace === "" ? { name } : { name, namespace }, { signal }));
    if (other !== undefined && (await mustWait(entry, other, deps))) return true;
  }
  return false;
}

/**
 * Whether a refused deletion is made again: if the Usage asks for it, or if the garbage collector tried and all owners are still gone.
 * An attempt that was recorded on another object, such as the one of a backup, does not count.
 */
async function isReplayed(usage: KubeObject, used: KubeObject, deps: UsageObjectDeps): Promise<boolean> {
  if (annotationOf(used, attemptAnnotation) === undefined || used.metadata.deletionTimestamp) return false;
  if ((annotationOf(used, attemptUidAnnotation) ?? used.metadata.uid) !== used.metadata.uid) return false;
  if (memberAt(usage, ["spec", "replayDeletion"]) === true) return true;
  return annotationOf(used, attemptByAnnotation) === byGarbageCollector && (await hasNoOwner(used, deps));
}

/** Whether an object had owners and all are gone. An owner that cannot be read may still exist. */
async function hasNoOwner(used: KubeObject, { client, signal }: UsageObjectDeps): Promise<boolean> {
  const owners = used.metadata.ownerReferences ?? [];
  for (const { apiVersion, kind, name, uid } of owners) {
    try {
      const { namespaced } = await client.mapper.mapping({ apiVersion, kind }, signal);
      const key = { name, ...(namespaced && { namespace: used.metadata.namespace }) };
      const owner = await ignoreNotFound(client.live.get({ apiVersion, kind }, key, { signal }));
      if (owner?.metadata.uid === uid) return false;
    } catch (error) {
      if (isNoMatch(error) || isForbidden(error)) return false;
      throw error;
    }
  }
  return owners.length > 0;
}

async function replay(used: KubeObject, { client, signal }: UsageObjectDeps): Promise<void> {
  const { apiVersion, kind, metadata } = used;
  const asked = annotationOf(used, attemptAnnotation);
  const propagationPolicy = asked === "Foreground" || asked === "Orphan" ? asked : "Background";
  const preconditions = { uid: metadata.uid ?? "", resourceVersion: metadata.resourceVersion ?? "" };
  await ignoreNotFound(
    client.delete({ apiVersion, kind, ...keyOf(used) }, { propagationPolicy, preconditions, signal }),
  );
}

/** Sets the label of a used object, or removes it. One that was created again since it was read is a conflict. */
export async function patchLabel(
  used: KubeObject,
  value: "true" | null,
  { client, signal }: UsageObjectDeps,
): Promise<KubeObject> {
  const { apiVersion, kind } = used;
  const patch = { metadata: { uid: used.metadata.uid ?? "", labels: { [inUseLabel]: value } } };
  const options = { type: "merge", fieldManager: fieldManagers.update, signal } as const;
  try {
    return await client.patch({ apiVersion, kind, ...keyOf(used) }, patch, options);
  } catch (error) {
    if (!isInvalid(error) || !textOf(error).includes("metadata.uid")) throw error;
    const { group } = parseApiVersion(apiVersion);
    throw conflict({ group, resource: kind }, used.metadata.name ?? "", textOf(error));
  }
}

/** Stores a Usage, if it differs from the stored one. */
export async function store(
  { stored }: Pick<ReconcileContext, "stored">,
  after: KubeObject,
  { client, signal }: Omit<UsageObjectDeps, "objects">,
): Promise<boolean> {
  if (after === stored.object) return false;
  stored.object = await client.update(after, { fieldManager: fieldManagers.update, signal });
  return true;
}
