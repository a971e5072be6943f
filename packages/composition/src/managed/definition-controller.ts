// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
import { isNoMatch } from "@purlin/kube-client";
import {
  attempt,
  type ControllerClient,
  crdType,
  defineController,
  type EventRecorder,
  isEstablished,
  type ReconcileContext,
  type ReconcileResult,
  refusalOf,
  reservedFor,
  type WatchingController,
  withConditionTexts,
} from "@purlin/kube-controller";
import { isNotFound } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import {
  type ConditionText,
  controllerOf,
  isDeleted,
  type KubeObject,
  memberAt,
  type ObjectKey,
  type OwnerReference,
  objectAt,
  objectsAt,
  textAt,
} from "@purlin/kube-objects/object";
import { fieldManagers } from "../composite-resource/constants.ts";
import { managedFieldsUpgrade } from "../composite-resource/crossplane-fields.ts";

/** The dependencies of the controllers of managed resource definitions and of their activation policies. */
export interface ManagedDeps {
  readonly client: ControllerClient;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
}

interface ManagedContext extends ReconcileContext {
  readonly client: ControllerClient;
  readonly clock: Clock;
}

const fieldManager = "apiextensions.crossplane.io/managed";
const timeoutMs = 120_000;
/** How often the remaining objects of a CRD that is being deleted are counted. */
const recountMs = 10_000;

const applyReason = "ApplyCustomResourceDefinition";
const unable = {
  get: { reason: "Reconcile", text: "unable to get CustomResourceDefinition" },
  upgrade: { reason: "Reconcile", text: "unable to upgrade managed fields" },
  form: { reason: "Reconcile", text: "unable to form CustomResourceDefinition" },
  apply: { reason: applyReason, text: "unable to apply CustomResourceDefinition" },
} as const;

/** The controller that installs the CRD of each active managed resource definition. */
export function createManagedDefinitionController({ client, events, clock, log }: ManagedDeps): WatchingController {
  const itself = ({ object }: { readonly object: KubeObject }): ObjectKey[] => [{ name: object.metadata.name ?? "" }];
  return defineController<ManagedContext>({
    client,
    events,
    clock,
    log,
    name: "mrd/managedresourcedefinition",
    type: managedDefinitionType,
    timeoutMs,
    watches: [
      { type: "ManagedResourceDefinition", object: managedDefinitionType, keys: itself },
      // The CRD of a definition has its name, also one that another controller made.
      { type: "CustomResourceDefinition", object: crdType, keys: itself },
    ],
    extend: (context) => ({ ...context, client, clock }),
    onPause: async (context) => reportPause(context),
    reconcile: reconcileDefinition,
    onFailure: ({ message }, context) => reportFailure(context, message),
  });
}

/** Emits the event of a paused object; its conditions stay. */
export function reportPause({ emit }: ReconcileContext): void {
  emit({ reason: "ReconciliationPaused", message: "Reconciliation is paused via the pause annotation" });
}

async function reconcileDefinition(context: ManagedContext): Promise<ReconcileResult> {
  const { client, signal, key } = context;
  if (isDeleted(context.stored.object)) return report(context, "False", "TerminatingManagedResource");
  const crd = await attempt(unable.get, () => client.get(crdType, { name: key.name }, { signal }));
  if (!isActive(context.stored.object)) {
    if (crd === undefined || isDeleted(crd) || !isOfProvider(crd)) {
      return report(context, "False", "InactiveManagedResource", "not activated by any policy");
    }
    await activateServed(context);
  }
  return crd !== undefined && isDeleted(crd) ? waitForDeletion(context, crd) : establish(context, crd);
}

/** A kind that is served already is in use: it came from an earlier version of its provider, or outlived it. */
async function activateServed(context: ManagedContext): Promise<void> {
  const { client, key, signal } = context;
  const step = { reason: "ActivateManagedResourceDefinition", text: "cannot activate ManagedResourceDefinition" };
  const patch = { spec: { state: "Active" } };
  context.stored.object = await attempt(step, () =>
    client.patch({ ...managedDefinitionType, name: key.name }, patch, {
      type: "merge",
      fieldManager: fieldManagers.update,
      signal,
    }),
  );
  context.emit({ reason: step.reason, message: `${key.name} was already served` });
}

async function waitForDeletion(context: ManagedContext, crd: KubeObject): Promise<ReconcileResult> {
  const count = await countObjects(context.client, crd, context.signal);
  const message = `the CustomResourceDefinition is being deleted: ${count} objects remain`;
  await report(context, "False", "PendingManagedResource", message);
  return { requeueAfterMs: recountMs };
}

/** How many objects of a CRD there are. A kind that is not served has none. */
export async function countObjects(
  client: { readonly live: Pick<ControllerClient["live"], "list"> },
  crd: KubeObject,
  signal: AbortSignal | undefined,
): Promise<number> {
  const type = storedTypeOf(crd);
  if (type === undefined) return 0;
  try {
    const { items, remainingItemCount = 0 } = await client.live.list(type, { limit: 1, signal });
    return items.length + remainingItemCount;
  } catch (error) {
    if (isNoMatch(error) || isNotFound(error)) return 0;
    throw error;
  }
}

async function establish(context: ManagedContext, stored: KubeObject | undefined): Promise<ReconcileResult> {
  const { client, signal } = context;
  const wanted = await attempt(unable.form, () => managedCrd(context.stored.object));
  const free = stored && (await attempt(unable.apply, () => releaseController(context, stored, wanted)));
  const observed = free && (await attempt(unable.upgrade, () => upgrade(context, free)));
  const { object, sent } = await attempt(unable.apply, () =>
    client.applyIfChanged(wanted, { fieldManager, force: true, observed, signal }),
  );
  if (sent && object.metadata.resourceVersion !== observed?.metadata.resourceVersion) {
    context.emit({ reason: applyReason, message: "Successfully applied CustomResourceDefinition" });
  }
  if (isEstablished(object)) return report(context, "True", "EstablishedManagedResource");
  return report(context, "Unknown", "PendingManagedResource", refusalOf(object));
}

/** Makes fields that plain updates wrote removable by server-side apply. */
async function upgrade({ client, signal }: ManagedContext, crd: KubeObject): Promise<KubeObject> {
  const patch = managedFieldsUpgrade(crd, (manager) => manager === fieldManager);
  if (patch === undefined) return crd;
  return client.patch({ ...crdType, name: crd.metadata.name ?? "" }, patch, { type: "json", signal });
}

/**
 * An object has one controller: revisions of a provider that controlled the CRD before become plain owners. A CRD that belongs to
 * another kind of owner, such as a CompositeResourceDefinition, or to the control plane itself, is not taken.
 */
async function releaseController(context: ManagedContext, crd: KubeObject, wanted: KubeObject): Promise<KubeObject> {
  const controller = controllerOf(crd);
  const owner = reservedFor(crd.metadata.name ?? "");
  if (controller === undefined && owner !== undefined)
    throw new Error(`CustomResourceDefinition "${crd.metadata.name}" belongs to ${owner}`);
  if (controller === undefined || controller.uid === controllerOf(wanted)?.uid) return crd;
  if (!isOfProvider(crd)) {
    const { kind, name } = controller;
    throw new Error(`CustomResourceDefinition "${crd.metadata.name}" belongs to ${kind} "${name}"`);
  }
  const ownerReferences = (crd.metadata.ownerReferences ?? []).map(
    (owner): OwnerReference => (owner.uid === controller.uid ? { ...owner, controller: false } : owner),
  );
  const released = { ...crd, metadata: { ...crd.metadata, ownerReferences } } as KubeObject;
  return context.client.update(released, { fieldManager: fieldManagers.update, signal: context.signal });
}

/** Whether a CRD has no controller, or is controlled by a package or its revision. Those of the control plane have none. */
function isOfProvider(crd: KubeObject): boolean {
  const controller = controllerOf(crd);
  if (controller === undefined) return reservedFor(crd.metadata.name ?? "") === undefined;
  return controller.apiVersion.startsWith("pkg.crossplane.io/");
}

async function report(
  context: ManagedContext,
  ...[status, reason, message]: [ConditionText["status"], string, string?]
): Promise<ReconcileResult> {
  const text = { type: "Established", status, reason, ...(message !== undefined && { message }) };
  await context.writeStatus(withConditionTexts(context.stored.object, [text], context.clock));
  return {};
}

async function reportFailure(context: ManagedContext, message: string): Promise<void> {
  const step = Object.values(unable).find(({ text }) => message.startsWith(text));
  if (step !== undefined) await report(context, "False", "PendingManagedResource", `${step.text}, see events`);
}

/** The type of ManagedResourceDefinitions. */
export const managedDefinitionType = {
  apiVersion: "apiextensions.crossplane.io/v1alpha1",
  kind: "ManagedResourceDefinition",
} as const;

/** Whether a definition is activated. */
export function isActive(mrd: KubeObject): boolean {
  return textAt(mrd, ["spec", "state"]) === "Active";
}

/**
 * The CRD of a definition, as an apply configuration: only fields that are set, versions by name. The definition and its controller own
 * it, so a new revision of the provider takes it over with the definition.
 */
function managedCrd(mrd: KubeObject): KubeObject {
  const spec = objectAt(mrd, ["spec"]);
  const { group, names, scope, conversion, preserveUnknownFields, versions } = spec;
  const sorted = (Array.isArray(versions) ? versions : [])
    .filter(isJsonObject)
    .toSorted((a, b) => (String(a["name"]) < String(b["name"]) ? -1 : 1));
  return {
    ...crdType,
    metadata: { name: mrd.metadata.name ?? "", ownerReferences: ownersOf(mrd) },
    spec: {
      group: group ?? "",
      names: withoutZeros(isJsonObject(names) ? names : {}),
      scope: scope ?? "",
      ...(isJsonObject(conversion) && { conversion }),
      ...(preserveUnknownFields === true && { preserveUnknownFields }),
      versions: sorted.map(versionOf),
    },
  } as KubeObject;
}

/** `served` and `storage` are required, whatever their value. */
function versionOf(version: JsonObject): JsonObject {
  const { name = "", served = false, storage = false, schema, ...others } = version;
  requireSchema(String(name), schema);
  return { name, served, storage, ...(schema !== undefined && { schema }), ...withoutZeros(others) };
}

function requireSchema(name: string, schema: JsonValue | undefined): void {
  const found = schema === undefined ? undefined : memberAt({ schema }, ["schema", "openAPIV3Schema"]);
  if (found === undefined || isJsonObject(found)) return;
  throw new Error(`cannot parse OpenAPI v3 schema for version "${name}": it must be an object`);
}

function withoutZeros(object: JsonObject): JsonObject {
  const isZero = (value: JsonValue | undefined): boolean =>
    value === undefined || value === null || value === "" || value === false || (Array.isArray(value) && !value.length);
  return Object.fromEntries(Object.entries(object).filter(([, value]) => !isZero(value)));
}

function ownersOf(mrd: KubeObject): OwnerReference[] {
  const { apiVersion, kind, metadata } = mrd;
  const own = { apiVersion, kind, name: metadata.name ?? "", uid: metadata.uid ?? "" };
  const controller = controllerOf(mrd);
  return controller === undefined ? [own] : [own, controller];
}

/** The storage version of a CRD, to list its objects. Undefined when it has none. */
export function storedTypeOf(crd: KubeObject): { readonly apiVersion: string; readonly kind: string } | undefined {
  const version = objectsAt(crd, ["spec", "versions"]).find(({ storage }) => storage === true);
  const name = version && textAt(version, ["name"]);
  const [group, kind] = [textAt(crd, ["spec", "group"]), textAt(crd, ["spec", "names", "kind"])];
  if (name === undefined || group === undefined || kind === undefined) return undefined;
  return { apiVersion: `${group}/${name}`, kind };
}
