// SPDX-License-Identifier: Apache-2.0
// Deletes in this order: the instances, the controller that removes their finalizers, their CRD, the definition itself.

import { isNoMatch } from "@purlin/kube-client";
import { isNotServed } from "@purlin/kube-client/objects";
import { attempt, crdType, type ReconcileResult } from "@purlin/kube-controller";
import { ignoreNotFound, isNotFound } from "@purlin/kube-objects/errors";
import {
  hasFinalizer,
  isControlledBy,
  isDeleted,
  type KubeObject,
  memberAt,
  type TypeRef,
  textAt,
  textsAt,
  withoutFinalizer,
} from "@purlin/kube-objects/object";
import { fieldManagers } from "../composite-resource/constants.ts";
import { type DefinitionContext, withState } from "./context.ts";
import { type DefinitionFacts, definitionFacts } from "./definition-facts.ts";

/** Reconciles a definition that is being deleted. Its schema need not be valid for that. */
export async function terminateDefinition(context: DefinitionContext): Promise<ReconcileResult> {
  const { role, controllers, stored } = context;
  const name = stored.object.metadata.name ?? "";
  if (!hasFinalizer(stored.object, role.finalizer)) {
    await controllers.stop(name);
    return {};
  }
  await step(context, "cannot update status of CompositeResourceDefinition", () =>
    context.writeStatus(withState(stored.object, role.terminating, context)),
  );
  const crds = await step(context, `cannot get ${role.what} CustomResourceDefinition`, () => ownedCrds(context));
  if (crds.length === 0) return finish(context);

  const reason = role.reasons.terminate;
  if (await areInstancesLeft(context, crds)) {
    context.emit({ reason, message: `waiting for defined ${role.what}s to be deleted` });
    return { requeue: true };
  }
  await step(context, `cannot stop ${role.what} controller`, () => controllers.stop(name));
  for (const crd of crds.filter((owned) => !isDeleted(owned))) {
    const crdText = `${role.what} CustomResourceDefinition`;
    await step(context, `cannot delete ${crdText}`, () => deleteObject(context, crd));
    context.emit({ reason, message: `Deleted ${crdText}: ${crd.metadata.name}` });
  }
  return { requeue: true };
}

function step<T>({ role }: DefinitionContext, text: string, action: () => T | Promise<T>): Promise<T> {
  return attempt({ reason: role.reasons.terminate, text }, action);
}

/** The CRDs of this role that the definition controls. A CRD that it does not control is left alone. */
async function ownedCrds({ deps, role, stored, signal }: DefinitionContext): Promise<readonly KubeObject[]> {
  const { uid } = stored.object.metadata;
  const crds = await deps.client.list(crdType, { signal });
  return crds.filter(
    (crd) => isControlledBy(crd, uid) && textsAt(crd, ["spec", "names", "categories"]).includes(role.category),
  );
}

async function finish(context: DefinitionContext): Promise<ReconcileResult> {
  const { deps, role, controllers, signal } = context;
  const xrd = context.stored.object;
  await step(context, `cannot stop ${role.what} controller`, () => controllers.stop(xrd.metadata.name ?? ""));
  deps.client.mapper.forget(definitionFacts(xrd).compositeType.apiVersion);
  await step(context, `cannot remove ${role.what} finalizer`, async () => {
    const update = deps.client.update(withoutFinalizer(xrd, role.finalizer), {
      fieldManager: fieldManagers.update,
      signal,
    });
    await ignoreNotFound(update);
  });
  return {};
}

/** Deletes the instances that are not being deleted yet, and returns whether any is left. */
async function areInstancesLeft(context: DefinitionContext, crds: readonly KubeObject[]): Promise<boolean> {
  const { role } = context;
  const noun = `defined ${role.what}${role.prefix === "composite" ? "s" : ""}`;
  let isLeft = false;
  for (const crd of crds) {
    const type = instanceType(crd);
    await step(context, `cannot delete ${noun}`, () => deleteInstances(context, crd, type));
    const left = await step(context, `cannot list defined ${role.what}s`, () => isAnyLeft(context, type));
    if (left) await keepRunning(context, type);
    isLeft ||= left;
  }
  return isLeft;
}

function instanceType(crd: KubeObject): TypeRef {
  const versions = (memberAt(crd, ["spec", "versions"]) ?? []) as readonly {
    readonly name: string;
    readonly served: boolean;
    readonly storage: boolean;
  }[];
  const served = versions.filter((version) => version.served);
  const version = served.find(({ storage }) => storage) ?? served[0];
  return {
    apiVersion: `${textAt(crd, ["spec", "group"]) ?? ""}/${version?.name ?? ""}`,
    kind: textAt(crd, ["spec", "names", "kind"]) ?? "",
  };
}

/**
 * Deletes claims one by one, and composite resources all at once. Namespaced composite resources belong to their users and are not
 * deleted: the definition waits until they are gone.
 */
async function deleteInstances(context: DefinitionContext, crd: KubeObject, type: TypeRef): Promise<void> {
  const { deps, role, signal } = context;
  const isComposite = role.prefix === "composite";
  if (isComposite && memberAt(crd, ["spec", "scope"]) === "Namespaced") return;
  const listed = await ifServed(deps.client.list(type, { signal }), []);
  const live = listed.filter((instance) => !isDeleted(instance));
  if (live.length === 0) return;
  if (isComposite) await ifServed(deps.client.deleteCollection(type, { signal }), undefined);
  else for (const claim of live) await deleteObject(context, { ...claim, ...type });
}

async function isAnyLeft({ deps, signal }: DefinitionContext, type: TypeRef): Promise<boolean> {
  const { items } = await ifServed(deps.client.live.list(type, { limit: 1, signal }), {
    items: [],
    resourceVersion: "",
  });
  return items.length > 0;
}

/**
 * Instances have finalizers, so their controller must run to remove them, also after a restart in the middle of this. Other kinds
 * that the controller watches may be gone already.
 */
async function keepRunning(context: DefinitionContext, type: TypeRef): Promise<void> {
  const { role, controllers, signal } = context;
  const facts: DefinitionFacts = definitionFacts(context.stored.object);
  await step(context, `cannot start ${role.what} controller`, async () => {
    controllers.start(role.prefix === "composite" ? { ...facts, compositeType: type } : { ...facts, claimType: type });
    try {
      await controllers.startWatches(facts.name, signal);
    } catch (error) {
      if (!isNotServed(error)) throw error;
    }
  });
}

async function deleteObject({ deps, signal }: DefinitionContext, object: KubeObject): Promise<void> {
  const { apiVersion, kind, metadata } = object;
  const { name = "", namespace, uid = "" } = metadata;
  const deletion = deps.client.delete({ apiVersion, kind, name, namespace }, { preconditions: { uid }, signal });
  await ignoreNotFound(deletion);
}

/** A kind that is no longer served has no instances. */
async function ifServed<T>(call: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error) || isNoMatch(error)) return otherwise;
    throw error;
  }
}
