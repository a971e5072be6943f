// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient } from "@purlin/kube-controller";
import { ignoreNotFound, isAlreadyExists } from "@purlin/kube-objects/errors";
import { printJson } from "@purlin/kube-objects/json";
import { controllerOf, type KubeObject, type ObjectKey, type TypeRef } from "@purlin/kube-objects/object";

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
