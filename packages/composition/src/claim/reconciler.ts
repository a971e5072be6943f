// SPDX-License-Identifier: Apache-2.0

import type { CacheChange } from "@purlin/kube-client";
import { isNotServed } from "@purlin/kube-client/objects";
import {
  attempt,
  crdType,
  createReconciler,
  type Reconcile,
  type ReconcileResult,
  TerminalError,
  type WatchSpec,
} from "@purlin/kube-controller";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import { goQuote } from "@purlin/kube-objects/json";
import {
  isDeleted,
  type KubeObject,
  keyOf,
  type ObjectKey,
  parseApiVersion,
  textAt,
  withoutFinalizer,
} from "@purlin/kube-objects/object";
import {
  deleting,
  eventSources,
  fieldManagers,
  finalizers,
  reconcileError,
  reconcilePaused,
  reconcileSuccess,
} from "../composite-resource/constants.ts";
import { type ClaimRef, claimRefOf, managedFieldsUpgrade } from "../composite-resource/crossplane-fields.ts";
import type { InstanceController } from "../definition/context.ts";
import {
  type ClaimContext,
  type ClaimDeps,
  type ClaimKind,
  claimReasons,
  claimRefTo,
  claimSteps,
  defaultClaimSettings,
  eventAnnotations,
  writeConditions,
} from "./context.ts";
import { bindAndSync } from "./sync.ts";

const timeoutMs = 60_000;

/** Reconciles the claims of one definition. */
function claimReconciler(deps: ClaimDeps): Reconcile {
  const settings = { ...defaultClaimSettings, ...deps.settings };
  return createReconciler<ClaimContext>({
    ...deps,
    type: deps.kind.claimType,
    timeoutMs,
    readError: "cannot get claim",
    eventAnnotations,
    extend: (context) => ({ ...context, deps, settings }),
    async onPause(context) {
      context.emit({ reason: claimReasons.paused, message: reconcilePaused.message ?? "" });
      await writeConditions(context, context.stored.object, reconcilePaused);
    },
    reconcile: reconcileClaim,
    // Ready and the conditions of functions stay as they were.
    onFailure: ({ message }, context) => writeConditions(context, context.stored.object, reconcileError(message)),
  });
}

async function reconcileClaim(context: ClaimContext): Promise<ReconcileResult> {
  const observed = await attempt(claimSteps.observe, () => observe(context));
  if (observed !== undefined) refuseBoundElsewhere(context, observed);
  const xr = await attempt(claimSteps.upgrade, () => upgrade(context, observed));
  return isDeleted(context.stored.object) ? deleteClaim(context, xr) : bindAndSync(context, xr);
}

/** The composite resource that the claim refers to. Its kind is the definition's, whatever the reference says. */
async function observe({ deps, stored, signal }: ClaimContext): Promise<KubeObject | undefined> {
  const name = textAt(stored.object, ["spec", "resourceRef", "name"]);
  if (name === undefined) return undefined;
  const { client, kind } = deps;
  try {
    const cached = await client.get(kind.compositeType, { name }, { signal });
    // A deleted claim goes when it has no composite resource: one that the cache has not seen yet would be left behind.
    if (cached !== undefined || !isDeleted(stored.object)) return cached;
    return await ignoreNotFound(client.live.get(kind.compositeType, { name }, { signal }));
  } catch (error) {
    // A definition that is deleted may remove the kind before the last claim. Only a missing CRD proves that it is gone.
    if (isNotServed(error) && (await isKindGone(deps, signal))) return undefined;
    throw error;
  }
}

async function isKindGone({ client, kind }: ClaimDeps, signal: AbortSignal): Promise<boolean> {
  const crd = await ignoreNotFound(client.live.get(crdType, { name: kind.definition }, { signal }));
  return crd === undefined;
}

/** Throws when a composite resource is bound to another claim. A retry cannot help: a user has to correct one of the references. */
function refuseBoundElsewhere({ stored, settings }: ClaimContext, xr: KubeObject): void {
  const ref = claimRefOf(xr, "legacy");
  if (ref === undefined) return;
  const own = claimRefTo(stored.object);
  const versionOf = (apiVersion: string): string =>
    settings.acceptOtherVersions ? parseApiVersion(apiVersion).group : apiVersion;
  const isOwn =
    versionOf(ref.apiVersion) === versionOf(own.apiVersion) &&
    ref.kind === own.kind &&
    ref.namespace === own.namespace &&
    ref.name === own.name;
  if (isOwn) return;
  const what = `refusing to operate on composite resource "${xr.metadata.name}" that is not bound to this claim`;
  throw new TerminalError(claimReasons.bind, `${what}: bound to claim ${differenceOf(ref, own)}`);
}

/** A claim by the field in which it differs from another one. */
function differenceOf({ apiVersion, namespace, kind, name }: ClaimRef, own: ClaimRef): string {
  const named = goQuote(name);
  if (name !== own.name) return named;
  if (namespace !== own.namespace) return `${named} in namespace ${goQuote(namespace)}`;
  if (kind !== own.kind) return `${named} of kind ${kind}`;
  const repair = `set apiVersion: ${own.apiVersion} in the claimRef of the composite resource`;
  return `${named} of version ${apiVersion}: ${repair}, or start with --accept-other-claim-versions`;
}

async function upgrade(
  { deps, settings, signal }: ClaimContext,
  xr: KubeObject | undefined,
): Promise<KubeObject | undefined> {
  if (xr === undefined || !settings.serverSideApply) return xr;
  const patch = managedFieldsUpgrade(xr, (manager) => manager === fieldManagers.claim);
  if (patch === undefined) return xr;
  const target = { ...deps.kind.compositeType, ...keyOf(xr) };
  return ignoreNotFound(deps.client.patch(target, patch, { type: "json", signal }));
}

/**
 * Deletes the composite resource of a claim that is being deleted, then releases the claim: at once, or, when its policy is
 * Foreground, after the composite resource and all it composed are gone.
 */
async function deleteClaim(context: ClaimContext, xr: KubeObject | undefined): Promise<ReconcileResult> {
  const { stored } = context;
  const isForeground = textAt(stored.object, ["spec", "compositeDeletePolicy"]) === "Foreground";
  if (xr !== undefined && isForeground && isDeleted(xr)) {
    await writeConditions(context, stored.object, deleting);
    return { requeue: true };
  }
  if (xr !== undefined) await attempt(claimSteps.delete, () => deleteComposite(context, xr, isForeground));
  if (xr !== undefined && isForeground) return { requeue: true };
  context.emit({ reason: claimReasons.delete, message: "Successfully deleted composite resource" });
  const isLeft = await attempt(claimSteps.release, () => release(context));
  // A finalizer of another controller keeps the claim, so its status is still read.
  if (isLeft) await ignoreNotFound(writeConditions(context, stored.object, deleting, reconcileSuccess));
  return {};
}

async function deleteComposite({ deps, signal }: ClaimContext, xr: KubeObject, isForeground: boolean): Promise<void> {
  const { uid = "" } = xr.metadata;
  const propagation = isForeground ? ({ propagationPolicy: "Foreground" } as const) : {};
  const target = { ...deps.kind.compositeType, ...keyOf(xr) };
  await ignoreNotFound(deps.client.delete(target, { ...propagation, preconditions: { uid }, signal }));
}

/** Removes the finalizer. Resolves to whether the claim still exists afterwards. */
async function release({ deps, stored, signal }: ClaimContext): Promise<boolean> {
  const before = stored.object;
  const released = withoutFinalizer(before, finalizers.claim);
  if (released === before) return true;
  const options = { fieldManager: fieldManagers.update, signal };
  stored.object = (await ignoreNotFound(deps.client.update(released, options))) ?? before;
  return (stored.object.metadata.finalizers ?? []).length > 0 && stored.object !== before;
}

/** The controller of the claims that one definition offers. */
export function createClaimController(deps: ClaimDeps): InstanceController {
  const events = deps.events.with(eventSources.claim, `claim/${deps.kind.definition}`);
  return { reconcile: claimReconciler({ ...deps, events }), watches: claimWatches(deps.kind) };
}

/** The watches of a claim: the claim itself, and each composite resource that is, or was, bound to it. */
export function claimWatches({ claimType, compositeType }: ClaimKind): readonly WatchSpec[] {
  const { group } = parseApiVersion(claimType.apiVersion);
  const boundTo = (xr: KubeObject): readonly ObjectKey[] => {
    const ref = claimRefOf(xr, "legacy");
    // Anyone who may write the composite resource writes this reference: a malformed apiVersion must not throw here.
    const isOurs = ref?.kind === claimType.kind && ref.apiVersion.startsWith(`${group}/`);
    return isOurs ? [{ namespace: ref.namespace, name: ref.name }] : [];
  };
  return [
    { type: "Claim", object: claimType, keys: ({ object }) => [keyOfClaim(object)] },
    { type: "CompositeResource", object: compositeType, keys: (change) => versionsOf(change).flatMap(boundTo) },
  ];
}

function keyOfClaim({ metadata }: KubeObject): ObjectKey {
  return { namespace: metadata.namespace, name: metadata.name ?? "" };
}

function versionsOf(change: CacheChange): readonly KubeObject[] {
  return change.type === "updated" ? [change.previous, change.object] : [change.object];
}
