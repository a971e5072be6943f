// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { forEachLimited } from "@purlin/base";
import type { ControllerClient } from "@purlin/kube-controller";
import {
  conflict,
  during,
  ignoreNotFound,
  isConflict,
  isInvalid,
  isNotFound,
  textOf,
} from "@purlin/kube-objects/errors";
import { compareUtf8 } from "@purlin/kube-objects/json";
import {
  controllerOf,
  isControlledBy,
  isDeleted,
  type KubeObject,
  keyOf,
  parseApiVersion,
  withMember,
} from "@purlin/kube-objects/object";
import { fieldManagers, labels } from "../../composite-resource/constants.ts";
import {
  type CompositeSchema,
  managedFieldsUpgrade,
  type ResourceRef,
  withCrossplaneFields,
} from "../../composite-resource/crossplane-fields.ts";
import { kindAndName, type Observed, sameKind } from "../observe/observe.ts";
import { ComposedResourceError, type PipelineEvent } from "../run/step-results.ts";
import type { DesiredResource } from "./desired-resources.ts";

/** A composed resource after it was applied. */
export interface ComposedResource {
  readonly name: string;
  readonly ready: boolean;
  /** False when the API server refused it: as invalid, or for a uid or resourceVersion that is not its own. */
  readonly synced: boolean;
}

/** The result of applying. */
export interface AppliedResources {
  readonly resources: readonly ComposedResource[];
  readonly events: readonly PipelineEvent[];
}

const atOnce = 8;

interface ApplyOptions {
  readonly observed: Pick<Observed, "resources">;
  readonly composite: KnownComposite;
  readonly client: ControllerClient;
  readonly signal: AbortSignal;
}

/**
 * Applies the composed resources. A refused resource is reported and the others are still applied; any other failure ends it, without
 * starting the rest.
 */
export async function applyComposed(
  desired: readonly DesiredResource[],
  { observed: { resources: observed }, composite, client, signal }: ApplyOptions,
): Promise<AppliedResources> {
  const existing = desired.flatMap(({ name }) => observed.get(name)?.object ?? []);
  await upgradeManagedFields(existing, client, signal);
  const options = { fieldManager: composedFieldManager(composite.read), force: true, signal };
  const refused = new Map<string, PipelineEvent>();
  await forEachLimited(desired, atOnce, async ({ name, object }) => {
    const text = `cannot apply composed resource "${name}"`;
    const known = sameKind(observed.get(name)?.object, object);
    let isSent = false;
    const beforeSend = async (current: KubeObject | undefined): Promise<void> => {
      await requireAlive(composite, { observed: known, current }, { client, signal });
      isSent = true;
    };
    try {
      await client.applyIfChanged(object, { ...options, observed: known, beforeSend });
    } catch (error) {
      const advice = isSent && isConflict(error) ? wrongIdentity(object, observed.get(name)?.object) : undefined;
      const isRefused = isInvalid(error) || advice !== undefined;
      if (!isRefused) throw failed(text, object, await explained(object, error, { client, signal }));
      refused.set(name, warn(`${text}: ${textOf(error)}${advice ?? ""}`));
    }
  });
  const resources = desired.map(({ name, ready }) => ({ name, ready, synced: !refused.has(name) }));
  return { resources, events: resources.flatMap(({ name }) => refused.get(name) ?? []) };
}

/** Upgrades the field ownership of observed objects where needed. Objects that are gone meanwhile need no upgrade. */
async function upgradeManagedFields(
  objects: readonly KubeObject[],
  client: ControllerClient,
  signal: AbortSignal,
): Promise<void> {
  for (const object of objects) {
    const patch = managedFieldsUpgrade(object, isComposedManager);
    if (patch === undefined) continue;
    const { apiVersion, kind } = object;
    await ignoreNotFound(client.patch({ apiVersion, kind, ...keyOf(object) }, patch, { type: "json", signal }));
  }
}

/** Whether a field manager is that of a composite resource on its composed resources. */
export function isComposedManager(manager: string): boolean {
  return manager.startsWith(fieldManagers.composedPrefix);
}

/**
 * Advice about a conflict that a uid or resourceVersion of the function causes; undefined for any other conflict. Values that the
 * function copied from the observed resource are correct, and a conflict over them is a race.
 */
function wrongIdentity({ metadata }: KubeObject, observed: KubeObject | undefined): string | undefined {
  const fields = (["uid", "resourceVersion"] as const).filter(
    (field) => metadata[field] && metadata[field] !== observed?.metadata[field],
  );
  if (fields.length === 0) return undefined;
  const names = fields.map((field) => `metadata.${field}`).join(" and ");
  return `: the function sets ${names}: correct it`;
}

/** Replaces the 404 that an API server answers when a namespaced object is sent without a namespace. */
async function explained(
  object: KubeObject,
  error: unknown,
  { client: { mapper }, signal }: Pick<ApplyOptions, "client" | "signal">,
): Promise<unknown> {
  if (object.metadata.namespace || !isNotFound(error)) return error;
  const mapping = await mapper.mapping(object, signal).catch(() => undefined);
  if (!mapping?.namespaced) return error;
  const what = `a ${object.kind} is namespaced, and the function set no namespace`;
  return new Error(`${what}: set its metadata.namespace`, { cause: error });
}

function failed(text: string, { apiVersion, kind, metadata: { namespace } }: KubeObject, error: unknown): Error {
  return new ComposedResourceError(text, { apiVersion, kind, namespace }, error);
}

function warn(message: string): PipelineEvent {
  return { type: "Warning", reason: "ComposeResources", message, forClaim: false, detail: "" };
}

/**
 * The field manager of a composite resource on its composed resources: one for each name and kind of composite resource, so that a
 * conflict between two of them over one object is detected.
 */
export function composedFieldManager({ apiVersion, kind, metadata }: KubeObject): string {
  const { group } = parseApiVersion(apiVersion);
  const groupKind = group === "" ? kind : `${kind}.${group}`;
  const hash = createHash("sha256")
    .update(`${metadata.name ?? ""}${groupKind}`)
    .digest("hex");
  return `${fieldManagers.composedPrefix}/${hash}`;
}

/** An XR as a reconcile has read it, and as it was when its references were stored; the same when they were not. */
interface KnownComposite {
  readonly read: KubeObject;
  readonly stored: KubeObject;
}

/** A composed resource as it was observed, and as it is known right before it is applied. */
interface KnownComposed {
  readonly observed: KubeObject | undefined;
  readonly current: KubeObject | undefined;
}

/**
 * Throws a conflict when a resource would be created or adopted for an XR that is being deleted or was replaced. The cache of XRs may be
 * behind the cache of composed resources: a resource that was just collected would be created again, and an orphaned one would be
 * adopted and then deleted.
 */
export async function requireAlive(
  { read, stored }: KnownComposite,
  { observed, current }: KnownComposed,
  { client, signal }: { readonly client: ControllerClient; readonly signal: AbortSignal },
): Promise<void> {
  const { uid } = read.metadata;
  if (current !== undefined && isControlledBy(current, uid)) return;
  // Storing references returned the newest XR. A composed resource that disappeared since then means that the XR may be gone, too.
  const isFresh = stored !== read && observed === undefined;
  const xr = isFresh ? stored : await ignoreNotFound(client.live.get(read, keyOf(read), { signal }));
  if (xr !== undefined && !isDeleted(xr) && xr.metadata.uid === uid) return;
  const { group } = parseApiVersion(read.apiVersion);
  const why = "it is being deleted; no resources are created for it";
  throw conflict({ group, resource: read.kind.toLowerCase() }, read.metadata.name ?? "", why);
}

/** References to objects in their stored order. Those of a namespaced XR have no namespace: it is the XR's own. */
export function referencesTo(objects: readonly KubeObject[], xr: KubeObject): readonly ResourceRef[] {
  const refs = objects.map((object) => referenceTo(object, xr));
  return refs
    .map((ref) => ({ ref, key: `${ref.apiVersion}${ref.kind}${ref.name ?? ""}${ref.namespace ?? ""}` }))
    .sort((a, b) => compareUtf8(a.key, b.key))
    .map(({ ref }) => ref);
}

function referenceTo({ apiVersion, kind, metadata }: KubeObject, xr: KubeObject): ResourceRef {
  const { name = "", namespace } = metadata;
  const placed = namespace && !xr.metadata.namespace ? { namespace } : {};
  return { apiVersion, kind, ...(name && { name }), ...placed };
}

/**
 * Stores the references before the objects they name are created: an object without a reference could be lost. The uid of the XR is
 * sent along, so that an XR that was deleted meanwhile is not created again.
 */
export async function applyReferences(
  xr: KubeObject,
  refs: readonly ResourceRef[],
  { client, schema, signal }: { client: ControllerClient; schema: CompositeSchema; signal: AbortSignal },
): Promise<KubeObject> {
  const wanted = withCrossplaneFields(identityOf(xr), schema, { resourceRefs: refs });
  return during("cannot update composed resource references", async () => {
    const options = { fieldManager: fieldManagers.composite, force: true, observed: xr, signal };
    return (await client.applyIfChanged(wanted, options)).object;
  });
}

/** The type and identity of an object, and nothing else. */
export function identityOf({ apiVersion, kind, metadata: { name = "", namespace, uid } }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(namespace ? { namespace } : {}), ...(uid ? { uid } : {}) } };
}

/** A composed resource that is no longer desired. */
interface Garbage {
  readonly name: string;
  readonly object: KubeObject;
}

/**
 * The observed resources that are not desired and are ours to delete. A resource without a controller was never ours: a reference
 * to it may be forged. Throws when another owner controls one.
 */
export function garbageOf({ composite, resources }: Observed, desired: ReadonlySet<string>): readonly Garbage[] {
  const unwanted = [...resources].filter(([name]) => !desired.has(name));
  return unwanted.flatMap(([name, { object }]) => {
    const controller = controllerOf(object);
    if (controller === undefined) return [];
    if (controller.uid === composite.object.metadata.uid) return [{ name, object }];
    const { kind, name: owner } = controller;
    throw new Error(`refusing to delete composed resource "${name}" that is controlled by ${kind} "${owner}"`);
  });
}

/** Deletes resources that are no longer desired. Must succeed before their references are removed. */
export async function collectGarbage(
  observed: Observed,
  desired: ReadonlySet<string>,
  { client, signal }: { readonly client: ControllerClient; readonly signal: AbortSignal },
): Promise<void> {
  await during("cannot garbage collect composed resources that are no longer desired", () =>
    forEachLimited(garbageOf(observed, desired), atOnce, (garbage) => remove(garbage, client, signal)),
  );
}

/** Removes the labels first: a resource that waits for its finalizers is no longer part of the tree. */
async function remove({ name, object }: Garbage, client: ControllerClient, signal: AbortSignal): Promise<void> {
  const what = `"${name}" ${kindAndName(object)}`;
  await during(`cannot cleanup composed resource labels of resource ${what}`, () =>
    removeLabels(object, client, signal),
  );
  const { apiVersion, kind, metadata } = object;
  const preconditions = metadata.uid === undefined ? {} : { uid: metadata.uid };
  await during(`cannot delete composed resource ${what}`, () =>
    ignoreNotFound(
      client.delete({ apiVersion, kind, ...keyOf(object) }, { propagationPolicy: "Foreground", preconditions, signal }),
    ),
  );
}

async function removeLabels(object: KubeObject, client: ControllerClient, signal: AbortSignal): Promise<void> {
  const names = [labels.composite, labels.claimName, labels.claimNamespace];
  const bare = names.reduce((o, name) => withMember(o, ["metadata", "labels", name], undefined), object);
  if (bare === object) return;
  await ignoreNotFound(client.update(bare, { fieldManager: fieldManagers.update, signal }));
}
