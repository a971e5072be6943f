// SPDX-License-Identifier: Apache-2.0

import { attempt, type ReconcileResult, withConditionTexts } from "@purlin/kube-controller";
import { during, notFound } from "@purlin/kube-objects/errors";
import { type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import {
  conditionOf,
  conditionsOf,
  conditionTime,
  controllerReference,
  isControlledBy,
  type KubeObject,
  memberAt,
  objectAt,
  textAt,
  withFinalizer,
  withMember,
  withOwner,
} from "@purlin/kube-objects/object";
import { refuseForeignSecret, secretText } from "../composite-resource/connection-secret.ts";
import { connectionSecretType, fieldManagers, finalizers, kinds } from "../composite-resource/constants.ts";
import {
  claimRefOf,
  connectionSecretRefOf,
  revisionRefOf,
  revisionSelectorOf,
} from "../composite-resource/crossplane-fields.ts";
import { available, reconcileSuccess, waiting } from "../composite-resource/standard-conditions.ts";
import { addedStatusFields, referenceableVersion } from "../definition/definition-facts.ts";
import { claimRefTo } from "./claim-fields.ts";
import { type ClaimContext, claimReasons, claimSteps, withCompositeConditions, writeConditions } from "./context.ts";
import { type SharedFacts, type Synced, syncClientSide, syncServerSide } from "./sync-modes.ts";

/** Brings a claim and its composite resource into sync, then reports the state of the latter on the claim. */
export async function bindAndSync(context: ClaimContext, observed: KubeObject | undefined): Promise<ReconcileResult> {
  const observedClaim = context.stored.object;
  const { claim, xr } = await attempt(claimSteps.sync, () => sync(context, observed));
  if (!isBound(context, observed) && isBound(context, xr)) {
    context.emit({ reason: claimReasons.bind, message: "Successfully bound composite resource" });
  }
  // Synced is about the claim. The state of its composite resource is in Ready and in the conditions of functions.
  const synced = withConditionTexts(claim, [reconcileSuccess], context.deps.clock);
  const reported = withCompositeConditions(synced, xr);
  if (conditionOf(conditionsOf(xr), "Ready").status !== "True") {
    if (!isWaiting(observedClaim)) {
      context.emit({ reason: claimReasons.bind, message: "Composite resource is not yet ready" });
    }
    await writeConditions(context, reported, waiting);
    return {};
  }
  await writeConditions(context, await propagate(context, reported, xr), available);
  return {};
}

/** Whether the condition of the claim says already that it waits: then no event repeats it at every reconcile. */
function isWaiting(claim: KubeObject): boolean {
  const ready = conditionOf(conditionsOf(claim), "Ready");
  return ready.status === waiting.status && ready.reason === waiting.reason;
}

async function sync(context: ClaimContext, xr: KubeObject | undefined): Promise<Synced> {
  const { stored, settings } = context;
  const shared = await readSharedFacts(context);
  const claim = withFinalizer(stored.object, finalizers.claim);
  return (settings.serverSideApply ? syncServerSide : syncClientSide)({ context, claim, xr, shared });
}

/** Reads the definition and the revision of a claim. A definition that cannot be read enforces nothing. */
async function readSharedFacts(context: ClaimContext): Promise<SharedFacts> {
  const { client, kind } = context.deps;
  const read = client.get(kinds.definition, { name: kind.definition }, { signal: context.signal });
  const definition = await read.catch(() => undefined);
  const version = (definition && referenceableVersion(definition)) ?? {};
  const enforced = ["spec", "enforcedCompositionRef", "name"];
  return {
    isCompositionEnforced: definition !== undefined && textAt(definition, enforced) !== undefined,
    isRevisionContradicted: await isRevisionContradicted(context),
    added: addedStatusFields(version, true, true),
  };
}

/** Whether the revision of a claim does not match its selector: claim and composite resource would overwrite each other's reference for ever. */
async function isRevisionContradicted({ deps, stored, signal }: ClaimContext): Promise<boolean> {
  const name = revisionRefOf(stored.object, "legacy");
  const selector = revisionSelectorOf(stored.object, "legacy");
  if (name === undefined || selector === undefined) return false;
  const revision = await deps.client.get(kinds.revision, { name }, { signal });
  if (revision === undefined) return true;
  const carried = revision.metadata.labels ?? {};
  return Object.entries(selector).some(([key, value]) => carried[key] !== value);
}

function isBound({ stored }: ClaimContext, xr: KubeObject | undefined): boolean {
  const ref = xr && claimRefOf(xr, "legacy");
  const own = claimRefTo(stored.object);
  return ref?.name === own.name && ref.namespace === own.namespace && ref.kind === own.kind;
}

async function propagate(context: ClaimContext, claim: KubeObject, xr: KubeObject): Promise<KubeObject> {
  const propagation = await attempt(claimSteps.propagate, () => propagateConnection(context, claim, xr));
  const path = ["status", "connectionDetails", "lastPublishedTime"];
  const time = conditionTime(context.deps.clock.now());
  if (propagation === "written") {
    const message = "Successfully propagated connection details from composite resource";
    context.emit({ reason: claimReasons.propagate, message });
    return withMember(claim, path, time);
  }
  // The process may have ended between writing the Secret and writing the status.
  const isReported = propagation === "none" || memberAt(claim, path) !== undefined;
  return isReported ? claim : withMember(claim, path, time);
}

/** The outcome of a propagation: nothing to copy, copied before, or copied now. */
type Propagation = "none" | "current" | "written";

/** Copies the connection details of a composite resource to the Secret its claim names, when both name one. */
async function propagateConnection(context: ClaimContext, claim: KubeObject, xr: KubeObject): Promise<Propagation> {
  const { client } = context.deps;
  const { signal } = context;
  const [from, to] = [connectionSecretRefOf(xr, "legacy"), connectionSecretRefOf(claim, "legacy")];
  if (from === undefined || to === undefined) return "none";
  const source = await during("cannot get composite resource's connection secret", async () => {
    const secret = await client.get(kinds.secret, from, { signal });
    if (secret === undefined) throw notFound({ group: "", resource: "secrets" }, from.name);
    return secret;
  });
  // Otherwise a user who may write claims could read any Secret by having a composite resource name it.
  if (!isControlledBy(source, xr.metadata.uid)) {
    const whose = `${secretText(source)} is not the composite resource's`;
    throw new Error(`cannot establish control of existing connection secret: ${whose}`);
  }
  const data = objectAt(source, ["data"]);
  return during("cannot create or update connection secret", () => store(context, claim, data));
}

async function store(
  { deps: { client }, signal }: ClaimContext,
  claim: KubeObject,
  data: Readonly<Record<string, JsonValue>>,
): Promise<Propagation> {
  const { namespace = "" } = claim.metadata;
  const { name = "" } = connectionSecretRefOf(claim, "legacy") ?? {};
  const options = { fieldManager: fieldManagers.update, signal };
  const existing = await client.get(kinds.secret, { namespace, name }, { signal });
  if (existing === undefined) {
    const metadata = { namespace, name, ownerReferences: [controllerReference(claim)] };
    await client.create({ ...kinds.secret, metadata, type: connectionSecretType, data }, options);
    return "written";
  }
  refuseForeignSecret(existing, claim);
  const isOurs = isControlledBy(existing, claim.metadata.uid);
  if (isOurs && jsonEqual(objectAt(existing, ["data"]), data)) return "current";
  await client.update({ ...withOwner(existing, controllerReference(claim)), data }, options);
  return "written";
}
