// SPDX-License-Identifier: Apache-2.0
// A definition goes in this order: its instances, the controller that frees them, their CRD, the definition itself.

import { isNoMatch } from "@purlin/kube-client";
import { crdType, type ReconcileResult } from "@purlin/kube-controller";
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
import { isNotServed } from "../not-served.ts";
import { type DefinitionFacts, definitionFacts } from "./definition-facts.ts";
import { type DefinitionPass, failing } from "./pass.ts";
import { withState, writeStatus } from "./status.ts";

/** One pass over a definition that is being deleted. The schema need not be good for that. */
export async function terminateDefinition(pass: DefinitionPass, found: KubeObject): Promise<ReconcileResult> {
  const { deps, side, controllers, signal } = pass;
  const name = found.metadata.name ?? "";
  if (!hasFinalizer(found, side.finalizer)) {
    await controllers.stop(name);
    return {};
  }
  const xrd = await step(pass, found, "cannot update status of CompositeResourceDefinition", () =>
    writeStatus(deps, found, withState(found, side.terminating, deps), signal),
  );
  const crds = await step(pass, xrd, `cannot get ${side.what} CustomResourceDefinition`, () => ownedCrds(pass, xrd));
  if (crds.length === 0) return finish(pass, xrd);

  const events = deps.events.with(side.controllerName);
  const reason = side.reasons.terminate;
  if (await areInstancesLeft(pass, xrd, crds)) {
    events.event(xrd, { type: "Normal", reason, message: `waiting for defined ${side.what}s to be deleted` });
    return { requeue: true };
  }
  await step(pass, xrd, `cannot stop ${side.what} controller`, () => controllers.stop(name));
  for (const crd of crds.filter((owned) => !isDeleted(owned))) {
    const crdText = `${side.what} CustomResourceDefinition`;
    await step(pass, xrd, `cannot delete ${crdText}`, () => deleteObject(pass, crd));
    events.event(xrd, { type: "Normal", reason, message: `Deleted ${crdText}: ${crd.metadata.name}` });
  }
  return { requeue: true };
}

function step<T>(pass: DefinitionPass, xrd: KubeObject, text: string, action: () => T | Promise<T>): Promise<T> {
  return failing(pass, xrd, { reason: pass.side.reasons.terminate, text }, action);
}

/** The CRDs of this side that the definition controls; one that it does not control is left alone. */
async function ownedCrds({ deps, side, signal }: DefinitionPass, xrd: KubeObject): Promise<readonly KubeObject[]> {
  const crds = await deps.client.list(crdType, { signal });
  return crds.filter(
    (crd) =>
      isControlledBy(crd, xrd.metadata.uid) && textsAt(crd, ["spec", "names", "categories"]).includes(side.category),
  );
}

async function finish(pass: DefinitionPass, xrd: KubeObject): Promise<ReconcileResult> {
  const { deps, side, controllers, signal } = pass;
  await step(pass, xrd, `cannot stop ${side.what} controller`, () => controllers.stop(xrd.metadata.name ?? ""));
  deps.client.mapper.forget(definitionFacts(xrd).compositeType.apiVersion);
  await step(pass, xrd, `cannot remove ${side.what} finalizer`, async () => {
    const update = deps.client.update(withoutFinalizer(xrd, side.finalizer), {
      fieldManager: fieldManagers.update,
      signal,
    });
    await ignoreNotFound(update);
  });
  return {};
}

/** Deletes what is not being deleted yet, and says whether anything is still there. */
async function areInstancesLeft(pass: DefinitionPass, xrd: KubeObject, crds: readonly KubeObject[]): Promise<boolean> {
  const { side } = pass;
  const noun = `defined ${side.what}${side.prefix === "composite" ? "s" : ""}`;
  let isLeft = false;
  for (const crd of crds) {
    const type = instanceType(crd);
    await step(pass, xrd, `cannot delete ${noun}`, () => deleteInstances(pass, crd, type));
    const left = await step(pass, xrd, `cannot list defined ${side.what}s`, () => isAnyLeft(pass, type));
    if (left) await keepRunning(pass, xrd, type);
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
 * Claims go one by one, composite resources all at once. Namespaced composite resources are not ours to delete: whoever
 * made them did so in a namespace of their own, and the definition waits until they are gone.
 */
async function deleteInstances(pass: DefinitionPass, crd: KubeObject, type: TypeRef): Promise<void> {
  const { deps, side, signal } = pass;
  const isComposite = side.prefix === "composite";
  if (isComposite && memberAt(crd, ["spec", "scope"]) === "Namespaced") return;
  const listed = await ifServed(deps.client.list(type, { signal }), []);
  const live = listed.filter((instance) => !isDeleted(instance));
  if (live.length === 0) return;
  if (isComposite) await ifServed(deps.client.deleteCollection(type, { signal }), undefined);
  else for (const claim of live) await deleteObject(pass, { ...claim, ...type });
}

async function isAnyLeft({ deps, signal }: DefinitionPass, type: TypeRef): Promise<boolean> {
  const { items } = await ifServed(deps.client.live.list(type, { limit: 1, signal }), {
    items: [],
    resourceVersion: "",
  });
  return items.length > 0;
}

/**
 * Instances have finalizers, so somebody must be there to free them: also after a restart in the middle of this. What else
 * that controller watches may be gone already.
 */
async function keepRunning(pass: DefinitionPass, xrd: KubeObject, type: TypeRef): Promise<void> {
  const { side, controllers, signal } = pass;
  const facts: DefinitionFacts = definitionFacts(xrd);
  await step(pass, xrd, `cannot start ${side.what} controller`, async () => {
    controllers.start(side.prefix === "composite" ? { ...facts, compositeType: type } : { ...facts, claimType: type });
    try {
      await controllers.startWatches(facts.name, signal);
    } catch (error) {
      if (!isNotServed(error)) throw error;
    }
  });
}

async function deleteObject({ deps, signal }: DefinitionPass, object: KubeObject): Promise<void> {
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
