// SPDX-License-Identifier: Apache-2.0

import { attempt, crdType, isReconcileFailure, type Reconcile, type ReconcileResult } from "@purlin/kube-controller";
import { during, ignoreNotFound, isConflict, textOf } from "@purlin/kube-objects/errors";
import { goQuote, type JsonValue } from "@purlin/kube-objects/json";
import {
  conditionTime,
  isDeleted,
  isPaused,
  type KubeObject,
  keyOf,
  parseApiVersion,
  textAt,
  withoutFinalizer,
} from "@purlin/kube-objects/object";
import { fieldManagers, finalizers } from "../composite-resource/constants.ts";
import { type ClaimRef, claimRefOf } from "../composite-resource/machinery.ts";
import {
  deleting,
  reconcileError,
  reconcilePaused,
  reconcileSuccess,
} from "../composite-resource/standard-conditions.ts";
import { isNotServed } from "../not-served.ts";
import { reconcileWithin } from "../reconcile-within.ts";
import { bindAndSync } from "./bind-and-sync.ts";
import { claimRefTo } from "./claim-fields.ts";
import { type ClaimPass, eventAnnotations, tellEvent, tellIn, writeStatus } from "./claim-pass.ts";
import { type ClaimPorts, defaultClaimSettings } from "./ports.ts";
import { claimReasons, claimSteps } from "./steps.ts";

const beforeFirstApply = "before-first-apply";

const timeoutMs = 60_000;

/** Reconciles the claims of one definition. */
export function claimReconciler(ports: ClaimPorts): Reconcile {
  const settings = { ...defaultClaimSettings, ...ports.settings };
  return reconcileWithin(timeoutMs, ports.clock, async (key, { signal, stopping }) => {
    const get = (): Promise<KubeObject | undefined> => ports.client.get(ports.kind.claimType, key, { signal });
    const stored = await during("cannot get claim", get);
    if (stored === undefined) return {};
    const time = conditionTime(ports.clock.now());
    const annotations = isPaused(stored) ? {} : eventAnnotations(stored);
    const pass: ClaimPass = { ports, settings, time, signal, annotations, stored };
    try {
      return await reconcileClaim(pass);
    } catch (error) {
      if (!stopping.aborted) await tellFailure(pass, error, stopping);
      throw error;
    }
  });
}

async function reconcileClaim(pass: ClaimPass): Promise<ReconcileResult> {
  if (isPaused(pass.stored)) return pause(pass);
  const observed = await attempt(claimSteps.observe, () => observe(pass));
  const other = observed && boundElsewhere(pass, observed);
  if (observed !== undefined && other !== undefined) return refuse(pass, observed, other);
  const xr = await attempt(claimSteps.upgrade, () => upgrade(pass, observed));
  return isDeleted(pass.stored) ? deleteClaim(pass, xr) : bindAndSync(pass, xr);
}

async function pause(pass: ClaimPass): Promise<ReconcileResult> {
  const { message = "" } = reconcilePaused;
  tellEvent(pass, { reason: claimReasons.paused, message });
  await writeStatus(pass, tellIn(pass, pass.stored, reconcilePaused));
  return {};
}

/** The composite resource that the claim refers to; whatever else the reference says, its kind is the definition's. */
async function observe({ ports, stored, signal }: ClaimPass): Promise<KubeObject | undefined> {
  const name = textAt(stored, ["spec", "resourceRef", "name"]);
  if (name === undefined) return undefined;
  const { client, kind } = ports;
  try {
    const cached = await client.get(kind.compositeType, { name }, { signal });
    // Without a composite resource a deleted claim goes, and nobody would delete one that the cache has not seen yet.
    if (cached !== undefined || !isDeleted(stored)) return cached;
    return await ignoreNotFound(client.live.get(kind.compositeType, { name }, { signal }));
  } catch (error) {
    // A definition that goes may take the kind away before the last claim. Nothing less is proof that there is none.
    if (isNotServed(error) && (await isKindGone(ports, signal))) return undefined;
    throw error;
  }
}

async function isKindGone({ client, kind }: ClaimPorts, signal: AbortSignal): Promise<boolean> {
  const crd = await ignoreNotFound(client.live.get(crdType, { name: kind.definition }, { signal }));
  return crd === undefined;
}

/** The claim that a composite resource is bound to, when it is another one. */
function boundElsewhere({ stored, settings }: ClaimPass, xr: KubeObject): ClaimRef | undefined {
  const ref = claimRefOf(xr, "legacy");
  if (ref === undefined) return undefined;
  const own = claimRefTo(stored);
  const versionOf = (apiVersion: string): string =>
    settings.acceptOtherVersions ? parseApiVersion(apiVersion).group : apiVersion;
  const isOwn =
    versionOf(ref.apiVersion) === versionOf(own.apiVersion) &&
    ref.kind === own.kind &&
    ref.namespace === own.namespace &&
    ref.name === own.name;
  return isOwn ? undefined : ref;
}

/** Trying again would not help: somebody has to correct one of the references, and that wakes the claim. */
async function refuse(pass: ClaimPass, xr: KubeObject, other: ClaimRef): Promise<ReconcileResult> {
  const what = `refusing to operate on composite resource "${xr.metadata.name}" that is not bound to this claim`;
  const message = `${what}: bound to claim ${differenceOf(other, claimRefTo(pass.stored))}`;
  tellEvent(pass, { type: "Warning", reason: claimReasons.bind, message });
  await writeStatus(pass, tellIn(pass, pass.stored, reconcileError(message)));
  return {};
}

/** A claim by what tells it from another one. */
function differenceOf({ apiVersion, namespace, kind, name }: ClaimRef, own: ClaimRef): string {
  const named = goQuote(name);
  if (name !== own.name) return named;
  if (namespace !== own.namespace) return `${named} in namespace ${goQuote(namespace)}`;
  if (kind !== own.kind) return `${named} of kind ${kind}`;
  const repair = `set apiVersion: ${own.apiVersion} in the claimRef of the composite resource`;
  return `${named} of version ${apiVersion}: ${repair}, or start with --accept-other-claim-versions`;
}

async function upgrade(pass: ClaimPass, xr: KubeObject | undefined): Promise<KubeObject | undefined> {
  const patch = xr === undefined || !pass.settings.serverSideApply ? undefined : managedFieldsUpgrade(xr);
  if (xr === undefined || patch === undefined) return xr;
  const { ports, signal } = pass;
  return ignoreNotFound(
    ports.client.patch({ ...ports.kind.compositeType, ...keyOf(xr) }, patch, { type: "json", signal }),
  );
}

/** In an event and in the Synced condition. Ready and what functions said stay as they were. A lost race is no failure. */
async function tellFailure(pass: ClaimPass, error: unknown, signal: AbortSignal): Promise<void> {
  if (!isReconcileFailure(error) || isConflict(error)) return;
  const { reason, message } = error;
  tellEvent(pass, { type: "Warning", reason, message });
  try {
    await writeStatus({ ...pass, signal }, tellIn(pass, pass.stored, reconcileError(message)));
  } catch (failure) {
    const { namespace, name } = pass.stored.metadata;
    pass.ports.log.debug("cannot tell a claim of its failure", { namespace, name, error: textOf(failure) });
  }
}

/**
 * The patch after which removing a field from the claim removes it from a composite resource that was once written by
 * plain updates; undefined when there is nothing to do. The version read goes along, so that nobody's change is lost.
 */
function managedFieldsUpgrade({ metadata }: KubeObject): JsonValue | undefined {
  const managers = (metadata.managedFields ?? []).map(({ manager = "" }) => manager);
  const isOurs = managers.includes(fieldManagers.claim);
  const index = managers.indexOf(beforeFirstApply);
  if (isOurs && index < 0) return undefined;
  const change = isOurs
    ? { op: "remove", path: `/metadata/managedFields/${index}` }
    : { op: "replace", path: "/metadata/managedFields", value: [{}] };
  return [change, { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion ?? "" }];
}

/**
 * Deletes the composite resource of a claim that is being deleted, then lets the claim go: at once, or, when its policy is
 * Foreground, after the composite resource and all it composed are gone.
 */
async function deleteClaim(pass: ClaimPass, xr: KubeObject | undefined): Promise<ReconcileResult> {
  const isForeground = textAt(pass.stored, ["spec", "compositeDeletePolicy"]) === "Foreground";
  if (xr !== undefined && isForeground && isDeleted(xr)) {
    await writeStatus(pass, tellIn(pass, pass.stored, deleting));
    return { requeue: true };
  }
  if (xr !== undefined) await attempt(claimSteps.delete, () => deleteComposite(pass, xr, isForeground));
  if (xr !== undefined && isForeground) return { requeue: true };
  tellEvent(pass, { reason: claimReasons.delete, message: "Successfully deleted composite resource" });
  const isLeft = await attempt(claimSteps.release, () => release(pass));
  // Somebody else's finalizer keeps the claim, so somebody may still look at it.
  if (isLeft) await ignoreNotFound(writeStatus(pass, tellIn(pass, pass.stored, deleting, reconcileSuccess)));
  return {};
}

async function deleteComposite({ ports, signal }: ClaimPass, xr: KubeObject, isForeground: boolean): Promise<void> {
  const { uid = "" } = xr.metadata;
  const propagation = isForeground ? ({ propagationPolicy: "Foreground" } as const) : {};
  const target = { ...ports.kind.compositeType, ...keyOf(xr) };
  await ignoreNotFound(ports.client.delete(target, { ...propagation, preconditions: { uid }, signal }));
}

/** Whether the claim is still there afterwards. */
async function release(pass: ClaimPass): Promise<boolean> {
  const { ports, stored, signal } = pass;
  const released = withoutFinalizer(stored, finalizers.claim);
  if (released === stored) return true;
  const options = { fieldManager: fieldManagers.update, signal };
  pass.stored = (await ignoreNotFound(ports.client.update(released, options))) ?? stored;
  return (pass.stored.metadata.finalizers ?? []).length > 0 && pass.stored !== stored;
}
