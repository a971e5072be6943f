// SPDX-License-Identifier: Apache-2.0

import type { Retirements } from "@purlin/function-process";
import type { CacheChange, InformerPool } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import { ignoreNotFound, isAlreadyExists, isConflict, isNotFound } from "@purlin/kube-objects/errors";
import { printJson } from "@purlin/kube-objects/json";
import {
  controllerOf,
  isControlledBy,
  isDeleted,
  type KubeObject,
  type ObjectKey,
  type TypeRef,
  textAt,
} from "@purlin/kube-objects/object";
import { type PackageType, packageLabels, packageTypes } from "../package-kinds.ts";
import { type KubernetesRuntimeOptions, runtimeKinds, runtimeNames } from "./kubernetes/runtime-names.ts";
import { isActive } from "./kubernetes/runtime-scene.ts";
import type { Retirement, RuntimeContext } from "./package-runtime.ts";

/** The field manager of runtime objects. */
export const runtimeFieldManager = "pkg.crossplane.io/runtime";

/** The stored object, and the signal of the apply. */
interface ApplyOwnedOptions {
  /** The stored object, if it exists. */
  readonly existing: KubeObject | undefined;
  readonly signal: AbortSignal;
}

/**
 * Applies an object of a runtime. An object has one controller, and an apply removes only fields that an apply set: an old controller
 * that another tool set, as older versions of Crossplane do, is removed first.
 */
export async function applyOwned(
  client: ControllerClient,
  wanted: KubeObject,
  { existing, signal }: ApplyOwnedOptions,
): Promise<KubeObject> {
  const owner = controllerOf(wanted);
  const old = existing && controllerOf(existing);
  if (existing !== undefined && old !== undefined && owner !== undefined && old.uid !== owner.uid) {
    if (isGivenByOthers(existing, old.uid)) await takeOut(client, existing, { uid: old.uid, signal });
  }
  return (await client.applyIfChanged(wanted, { fieldManager: runtimeFieldManager, force: true, signal })).object;
}

function isGivenByOthers({ metadata }: KubeObject, uid: string): boolean {
  const others = (metadata.managedFields ?? []).filter(
    ({ manager, operation }) => manager !== runtimeFieldManager || operation !== "Apply",
  );
  return others.some(({ fieldsV1 }) => printJson(fieldsV1 ?? {}).includes(printJson(`k:{"uid":"${uid}"}`)));
}

async function takeOut(
  client: ControllerClient,
  { apiVersion, kind, metadata }: KubeObject,
  { uid, signal }: { readonly uid: string; readonly signal: AbortSignal },
): Promise<void> {
  const { name = "", namespace, resourceVersion = "" } = metadata;
  const ownerReferences = (metadata.ownerReferences ?? []).filter((one) => one.uid !== uid);
  await client.patch(
    { apiVersion, kind, name, namespace },
    { metadata: { resourceVersion, ownerReferences } },
    { type: "merge", fieldManager: runtimeFieldManager, signal },
  );
}

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

/**
 * Deletes the Deployment of a revision that is no longer active once no call can be on the way to it, and its Service and certificate
 * if they are its own. Objects named after the package stay for the next revision. The garbage collector deletes the objects of a
 * revision that is deleted.
 */
export async function retire(
  options: KubernetesRuntimeOptions,
  { type, revision, signal }: RuntimeContext,
  retirements: Retirements,
): Promise<Retirement> {
  const { uid, name = "" } = revision.metadata;
  if (uid === undefined || isDeleted(revision)) {
    retirements.forget(name);
    return {};
  }
  // Neither active nor inactive: it was never started.
  if (textAt(revision, ["spec", "desiredState"]) !== "Inactive") return {};
  const ownership: Ownership = { objects: options.objects, namespace: options.namespace, uid, signal };
  const going = [...(await ownedObjects(ownership, "deployment"))];
  if (runtimeNames(type, revision, {}).isPerRevision) {
    going.push(...(await ownedObjects(ownership, "service")));
    const secrets = await ownedObjects(ownership, "secret");
    const needed = await secretsInUse(options, { type, revision, signal });
    going.push(...secrets.filter(({ metadata }) => !needed.has(metadata.name ?? "")));
  }
  if (going.length === 0) {
    retirements.forget(name);
    return {};
  }
  const waitMs = retirements.waitMs(name);
  if (waitMs > 0) return { requeueAfterMs: waitMs };
  for (const object of going) await deleteExactly(ownership, object);
  retirements.forget(name);
  return {};
}

/** The Secrets that active revisions of the same package are to use, or still use. */
export async function secretsInUse(
  { client }: KubernetesRuntimeOptions,
  { type, revision, signal }: RuntimeContext,
): Promise<ReadonlySet<string>> {
  const labels = { [packageLabels.package]: revision.metadata.labels?.[packageLabels.package] ?? "" };
  const revisions = await client.list(type.revision, { labels, signal });
  return new Set(revisions.filter(isActive).flatMap(secretsOf));
}

function secretsOf(revision: KubeObject): string[] {
  const fields = ["tlsServerSecretName", "tlsClientSecretName"];
  return fields
    .flatMap((field) => [textAt(revision, ["spec", field]) ?? [], textAt(revision, ["status", field]) ?? []])
    .flat();
}

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
  const notify = ({ object }: CacheChange): void => {
    const owner = controllerOf(object);
    const type = types.find(
      ({ revision }) => revision.kind === owner?.kind && revision.apiVersion === owner.apiVersion,
    );
    if (type !== undefined && owner !== undefined) changed(type, owner.name, object.kind);
  };
  const leases = Object.values(runtimeKinds).map((kind) => {
    const lease = informers.acquire(kind);
    return { lease, unsubscribe: lease.informer.subscribe(notify) };
  });
  return async () => {
    for (const { lease, unsubscribe } of leases) {
      unsubscribe();
      await lease.release();
    }
  };
}
