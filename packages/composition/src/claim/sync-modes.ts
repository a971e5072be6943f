// SPDX-License-Identifier: Apache-2.0
// The two ways in which a claim and its composite resource are brought into sync.

import { during } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { annotationOf, type KubeObject, memberAt, objectAt, textAt, withMember } from "@purlin/kube-objects/object";
import { applyMergePatch } from "@purlin/kube-objects/patch";
import { annotations, fieldManagers } from "../composite-resource/constants.ts";
import { crossplaneField, updatePolicyOf, withCrossplaneFields } from "../composite-resource/crossplane-fields.ts";
import { unusedName } from "../composite-resource/names.ts";
import type { AddedStatusFields } from "../definition/definition-facts.ts";
import {
  annotationsFor,
  claimRefTo,
  compositeOnly,
  labelsFor,
  overlaid,
  revisionToSend,
  type SharedReferences,
  specFor,
  withFlowBack,
} from "./claim-fields.ts";
import { type ClaimContext, sharedStatus, withMergedStatus, withSharedStatus } from "./context.ts";

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
