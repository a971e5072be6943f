// SPDX-License-Identifier: Apache-2.0
import { attempt, type ReconcileResult, withConditionTexts } from "@purlin/kube-controller";
import { during, notFound } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import {
  annotationOf,
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
import { applyMergePatch } from "@purlin/kube-objects/patch";
import {
  annotations,
  available,
  connectionSecretType,
  fieldManagers,
  finalizers,
  kinds,
  reconcileSuccess,
  waiting,
} from "../composite-resource/constants.ts";
import {
  claimRefOf,
  connectionSecretRefOf,
  crossplaneField,
  refuseForeignSecret,
  revisionRefOf,
  revisionSelectorOf,
  secretText,
  unusedName,
  updatePolicyOf,
  withCrossplaneFields,
} from "../composite-resource/crossplane-fields.ts";
import { type AddedStatusFields, addedStatusFields, referenceableVersion } from "../definition/definition-facts.ts";
import {
  annotationsFor,
  type ClaimContext,
  claimReasons,
  claimRefTo,
  claimSteps,
  compositeOnly,
  labelsFor,
  overlaid,
  revisionToSend,
  type SharedReferences,
  sharedStatus,
  specFor,
  withCompositeConditions,
  withFlowBack,
  withMergedStatus,
  withSharedStatus,
  writeConditions,
} from "./context.ts";

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

// The two ways in which a claim and its composite resource are brought into sync.

/** The facts beside both objects that a sync depends on. */
export interface SharedFacts extends SharedReferences {
  /** Which fields of the composite resource's status belong to the control plane. */
  readonly added: AddedStatusFields;
}

/** A claim and its composite resource before a sync. */
export interface SyncInput {
  readonly context: ClaimContext;
  /** With the changes of this reconcile; its spec and metadata are stored on the way. */
  readonly claim: KubeObject;
  /** Undefined until it is created. */
  readonly xr: KubeObject | undefined;
  readonly shared: SharedFacts;
}

/** Both after a sync. The status of the claim is complete, and not stored yet. */
export interface Synced {
  readonly claim: KubeObject;
  readonly xr: KubeObject;
}

/** Brings a claim and its composite resource into sync. */
type Sync = (input: SyncInput) => Promise<Synced>;

/**
 * Syncs by server-side apply. The reference of the claim is stored before the composite resource is created: after a crash in between
 * the same name is used again, and no composite resource is left behind.
 */
export const syncServerSide: Sync = async (input) => {
  const { context, claim, xr, shared } = input;
  const { deps, signal } = context;
  const name = await compositeName(input);
  checkSpec(claim);
  const { metadata, spec } = wantedOf(input);
  const prefix = xr === undefined && { generateName: `${claim.metadata.name ?? ""}-` };
  const patch = { ...deps.kind.compositeType, metadata: { name, ...prefix, ...metadata }, spec };
  const referring = withReference(claim, { ...deps.kind.compositeType, name });
  const updated = await storeClaim(context, xr === undefined ? referring : withFlowBack(referring, xr, shared));
  const options = { fieldManager: fieldManagers.claim, force: true, observed: xr, signal };
  const { object } = await during("cannot apply composite resource", () => deps.client.applyIfChanged(patch, options));
  const status = sharedStatus(object, shared.added);
  return { claim: status === undefined ? updated : withSharedStatus(updated, status), xr: object };
};

/** Syncs by create and merge patch, as before server-side apply: a field that was once set is never removed again. */
export const syncClientSide: Sync = async (input) => {
  const { context, claim, shared } = input;
  const name = input.xr?.metadata.name ?? (await compositeName(input));
  checkSpec(claim);
  const referring = withReference(claim, { ...context.deps.kind.compositeType, name });
  const referred = await storeClaim(context, referring);
  const xr = await during("cannot apply composite resource", () => createOrPatch(input, name));
  const status = sharedStatus(xr, shared.added);
  const merged = status === undefined ? referred : withMergedStatus(referred, status);
  const filled = withFilledSpec(withRevision(withFlowBack(merged, xr, shared), xr), xr);
  return { claim: await storeClaim(context, filled), xr };
};

/** The metadata and spec that a claim wants its composite resource to have. */
function wantedOf({ claim, xr, shared }: SyncInput): { readonly metadata: JsonObject; readonly spec: JsonObject } {
  const wanted = annotationsFor(claim, xr && annotationOf(xr, annotations.externalName));
  const revision = revisionToSend(claim, xr, shared);
  return {
    metadata: { labels: labelsFor(claim), ...(Object.keys(wanted).length > 0 && { annotations: wanted }) },
    spec: {
      ...specFor(claim, shared.isCompositionEnforced),
      ...(revision !== undefined && { compositionRevisionRef: revision }),
      claimRef: claimRefTo(claim),
    },
  };
}

async function createOrPatch(input: SyncInput, name: string): Promise<KubeObject> {
  const { context, xr } = input;
  const { client, kind } = context.deps;
  const options = { fieldManager: fieldManagers.update, signal: context.signal };
  const { metadata, spec } = wantedOf(input);
  if (xr === undefined) return client.create({ ...kind.compositeType, metadata: { ...metadata, name }, spec }, options);
  if (jsonEqual(applyMergePatch(xr, { metadata, spec }), xr)) return xr;
  return client.patch({ ...kind.compositeType, name }, { metadata, spec }, { ...options, type: "merge" });
}

/** The claim with its reference; the same object when it has it. */
function withReference(
  claim: KubeObject,
  { apiVersion, kind, name }: { readonly apiVersion: string; readonly kind: string; readonly name: string },
): KubeObject {
  const { spec } = claim as { readonly spec?: { readonly resourceRef?: Readonly<Record<string, unknown>> } };
  const had = spec?.resourceRef;
  if (had?.["apiVersion"] === apiVersion && had["kind"] === kind && had["name"] === name) return claim;
  return withCrossplaneFields(claim, "legacy", { resourceRef: { apiVersion, kind, name } });
}

/** Under Automatic the claim has the revision of its composite resource, or none if that has none. */
function withRevision(claim: KubeObject, xr: KubeObject): KubeObject {
  if (updatePolicyOf(xr, "legacy") !== "Automatic") return claim;
  return withCrossplaneFields(claim, "legacy", {
    compositionRevisionRef: crossplaneField(xr, "legacy", "compositionRevisionRef"),
  });
}

/** Fills fields that the claim does not set with those of its composite resource. */
function withFilledSpec(claim: KubeObject, xr: KubeObject): KubeObject {
  const theirs = Object.entries(objectAt(xr, ["spec"])).filter(([key]) => !compositeOnly.includes(key));
  // The revision has rules of its own.
  const shared = theirs.filter(([key]) => key !== "compositionRevisionRef");
  const spec = objectAt(claim, ["spec"]);
  const filled = overlaid(Object.fromEntries(shared), spec);
  return jsonEqual(spec, filled) ? claim : withMember(claim, ["spec"], filled);
}

/** The name of a claim's composite resource: the one it refers to, or a new unused one. */
async function compositeName({ context, claim }: SyncInput): Promise<string> {
  const { signal } = context;
  const { client, kind, random } = context.deps;
  const referred = textAt(claim, ["spec", "resourceRef", "name"]);
  if (referred !== undefined) return referred;
  return during("cannot generate a name for composite resource", () =>
    unusedName(
      `${claim.metadata.name ?? ""}-`,
      async (name) => (await client.get(kind.compositeType, { name }, { signal })) !== undefined,
      random,
    ),
  );
}

/** Throws when the spec of a claim is not an object. */
export function checkSpec(claim: KubeObject): void {
  if (!isJsonObject(memberAt(claim, ["spec"]))) throw new Error("claim spec was not an object");
}

/** Stores metadata and spec of a claim unless they equal the stored ones. The result has the status of this reconcile. */
async function storeClaim({ deps, stored, signal }: ClaimContext, claim: KubeObject): Promise<KubeObject> {
  const before = stored.object;
  if (isSame(claim.metadata, before.metadata) && isSame(claim["spec"], before["spec"])) return claim;
  stored.object = await during("cannot update claim", () =>
    deps.client.update(claim, { fieldManager: fieldManagers.update, signal }),
  );
  const { status } = claim;
  return status === undefined ? stored.object : { ...stored.object, status };
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || jsonEqual((a ?? null) as JsonValue, (b ?? null) as JsonValue);
}
