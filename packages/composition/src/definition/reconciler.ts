// SPDX-License-Identifier: Apache-2.0

import { isNotServed } from "@purlin/kube-client/objects";
import {
  attempt,
  type ControllerClient,
  crdType,
  isEstablished,
  type ReconcileResult,
  type ReconcilerDefinition,
  refusalOf,
  reservedFor,
} from "@purlin/kube-controller";
import { conflict, isAlreadyExists, textOf } from "@purlin/kube-objects/errors";
import { type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import {
  controllerOf,
  hasFinalizer,
  isControlledBy,
  isDeleted,
  type KubeObject,
  memberAt,
  objectAt,
  textAt,
  withFinalizer,
} from "@purlin/kube-objects/object";
import { toTypedForm } from "@purlin/kube-objects/typed";
import { fieldManagers, kinds } from "../composite-resource/constants.ts";
import {
  type DefinitionContext,
  type DefinitionDeps,
  type DefinitionRole,
  type InstanceControllers,
  withFailure,
  withoutConversionNotice,
  withRunning,
  withState,
} from "./context.ts";
import { checkVersions, definitionFacts } from "./definition-facts.ts";
import { terminateDefinition } from "./termination.ts";

/** Reconciles definitions in one role. */
export function definitionReconciler(
  deps: DefinitionDeps,
  role: DefinitionRole,
  controllers: InstanceControllers,
): ReconcilerDefinition<DefinitionContext> {
  return {
    ...deps,
    type: kinds.definition,
    timeoutMs: role.timeoutMs,
    async onGone({ key }) {
      await controllers.stop(key.name);
      return {};
    },
    extend: (context) => ({ ...context, deps, role, controllers }),
    reconcile(context) {
      const xrd = context.stored.object;
      if (isDeleted(xrd)) return terminateDefinition(context);
      return role.typeOf(definitionFacts(xrd)) === undefined ? retract(context) : establish(context);
    },
    onFailure: ({ message }, context) => context.writeStatus(withFailure(context.stored.object, message, context)),
  };
}

/**
 * A definition that no longer offers claims, or never did. Existing claims are user data: they are kept, deleted with the definition,
 * and reconciled again when it offers them again.
 */
async function retract(context: DefinitionContext): Promise<ReconcileResult> {
  const { role, controllers, stored } = context;
  if (!hasFinalizer(stored.object, role.finalizer)) return {};
  await controllers.stop(stored.object.metadata.name ?? "");
  const message = "spec.claimNames was removed: existing claims are kept but no longer reconciled";
  const state = { type: role.running.type, status: "False", reason: "ClaimsNotOffered", message } as const;
  await context.writeStatus(withState(stored.object, state, context));
  return {};
}

// The kind of a CRD is served a moment after the CRD is established.
const soonMs = 250;

async function establish(context: DefinitionContext): Promise<ReconcileResult> {
  const { deps, role, signal, stored } = context;
  const { apply } = role.reasons;
  const kindOfCrd = `${role.what} CustomResourceDefinition`;

  const wanted = await attempt({ reason: "RenderCRD", text: `cannot render ${kindOfCrd}` }, () =>
    role.derive(stored.object, deps),
  );
  await attempt({ reason: apply, text: `cannot add ${role.what} finalizer` }, () => ensureFinalizer(context));
  const xrd = stored.object;
  const { crd, isChanged } = await attempt({ reason: apply, text: `cannot apply rendered ${kindOfCrd}` }, () => {
    checkVersions(xrd);
    return applyDerivedCrd(deps.client, wanted, signal);
  });
  if (isChanged) context.emit({ reason: apply, message: `Applied ${kindOfCrd}: ${crd.metadata.name}` });
  const waiting = { reason: apply, message: `waiting for ${kindOfCrd} to be established` };
  if (!isEstablished(crd)) {
    context.emit(waiting);
    await reportRefusal(context, crd, waiting.message);
    return { requeue: true };
  }
  await stopOutdated(context, xrd);
  if (!(await startInstances(context, xrd))) {
    context.emit(waiting);
    return { requeueAfterMs: soonMs };
  }
  const type = role.typeOf(definitionFacts(xrd));
  if (type !== undefined) await context.writeStatus(withoutConversionNotice(withRunning(xrd, type, context)));
  return {};
}

/** Reports why the API server does not accept a CRD. Best effort: the next reconcile reports it again. */
async function reportRefusal(context: DefinitionContext, crd: KubeObject, waiting: string): Promise<void> {
  const refusal = refusalOf(crd);
  if (refusal === undefined) return;
  const xrd = context.stored.object;
  try {
    await context.writeStatus(withFailure(xrd, `${waiting}: ${refusal}`, context));
  } catch (error) {
    const { log } = context.deps;
    log.debug("failed to update definition status", { definition: xrd.metadata.name, error: textOf(error) });
  }
}

async function ensureFinalizer({ deps, role, stored, signal }: DefinitionContext): Promise<void> {
  const wanted = withFinalizer(stored.object, role.finalizer);
  if (wanted === stored.object) return;
  stored.object = await deps.client.update(wanted, { fieldManager: fieldManagers.update, signal });
}

async function stopOutdated(context: DefinitionContext, xrd: KubeObject): Promise<void> {
  const { role, controllers } = context;
  const now = definitionFacts(xrd);
  const made = controllers.running(now.name);
  if (made === undefined || !role.isOutdated(xrd, made, now)) return;
  const isComposite = role.prefix === "composite";
  const reason = isComposite ? "RestartComposite" : role.reasons.apply;
  if (isComposite) {
    context.emit({ reason, message: "XRD specification changed; restarting controller to apply updates" });
  }
  await attempt({ reason, text: `cannot stop ${role.what} controller` }, () => controllers.stop(now.name));
}

/** Whether the controller of the instances runs now. It does not while the API server does not serve the kind. */
async function startInstances(context: DefinitionContext, xrd: KubeObject): Promise<boolean> {
  const { role, controllers, signal } = context;
  const facts = definitionFacts(xrd);
  const reason = role.reasons.apply;
  await attempt({ reason, text: `cannot start ${role.what} controller` }, () => controllers.start(facts));
  return attempt({ reason, text: `cannot start ${role.what} controller watches` }, async () => {
    try {
      await controllers.startWatches(facts.name, signal);
      return true;
    } catch (error) {
      if (isNotServed(error)) return false;
      throw error;
    }
  });
}

/** A derived CRD as it is stored. */
interface AppliedCrd {
  readonly crd: KubeObject;
  readonly isChanged: boolean;
}

/**
 * Stores a derived CRD: creates it if it does not exist, otherwise replaces labels, annotations, owner and spec. Nothing is
 * written when nothing would change. Rejects when another owner controls a CRD of that name.
 */
async function applyDerivedCrd(client: ControllerClient, wanted: KubeObject, signal: AbortSignal): Promise<AppliedCrd> {
  const stored = await client.get(crdType, { name: wanted.metadata.name ?? "" }, { signal });
  if (stored !== undefined) checkControl(stored, wanted);
  if (stored !== undefined && isAsWanted(stored, wanted)) return { crd: stored, isChanged: false };
  const options = { fieldManager: fieldManagers.update, signal };
  const write =
    stored === undefined
      ? client.create(wanted, options).catch((error: unknown) => asConflict(error, wanted))
      : client.update(replaced(stored, wanted), options);
  const crd = await write.catch((error: unknown) => inTermsOfDefinition(error, wanted));
  return { crd, isChanged: crd.metadata.resourceVersion !== stored?.metadata.resourceVersion };
}

/** A CRD that exists although the cache did not hold it was created a moment ago: the next reconcile reads it. */
function asConflict(error: unknown, { metadata }: KubeObject): never {
  if (!isAlreadyExists(error)) throw error;
  const resource = { group: "apiextensions.k8s.io", resource: "customresourcedefinitions" };
  throw conflict(resource, metadata.name ?? "", textOf(error));
}

/** The API server reports errors of a schema that all versions share at a path that definitions do not have. */
function inTermsOfDefinition(error: unknown, wanted: KubeObject): never {
  const text = textOf(error);
  const versions = memberAt(wanted, ["spec", "versions"]);
  const place =
    Array.isArray(versions) && versions.length === 1 ? "spec.versions[0].schema" : "spec.versions[*].schema";
  const translated = text.replaceAll("spec.validation.openAPIV3Schema", `${place}.openAPIV3Schema`);
  throw translated === text ? error : new Error(translated, { cause: error });
}

function checkControl(stored: KubeObject, wanted: KubeObject): void {
  const controller = controllerOf(stored);
  const uid = controllerOf(wanted)?.uid ?? "";
  const owner = reservedFor(stored.metadata.name ?? "");
  if (controller === undefined && owner !== undefined) throw notControlled(stored, uid, owner);
  if (controller === undefined || isControlledBy(stored, uid)) return;
  const { kind, name } = controller;
  throw notControlled(stored, uid, `${kind} "${name}"`);
}

function notControlled({ metadata }: KubeObject, uid: string, owner: string): Error {
  return new Error(
    `existing object is not controlled by UID "${uid}": CustomResourceDefinition "${metadata.name}" belongs to ${owner}`,
  );
}

function replaced(stored: KubeObject, wanted: KubeObject): KubeObject {
  const { labels: _labels, annotations: _annotations, ownerReferences: _owners, ...kept } = stored.metadata;
  return { ...stored, metadata: { ...kept, ...wanted.metadata }, spec: objectAt(wanted, ["spec"]) };
}

/** Whether the stored CRD equals what the server would store. */
function isAsWanted(stored: KubeObject, wanted: KubeObject): boolean {
  const same = (a: unknown, b: unknown): boolean => jsonEqual((a ?? {}) as JsonValue, (b ?? {}) as JsonValue);
  return (
    same(stored.metadata.labels, wanted.metadata.labels) &&
    same(stored.metadata.annotations, wanted.metadata.annotations) &&
    same(stored.metadata.ownerReferences, wanted.metadata.ownerReferences) &&
    same(stored["spec"], asStored(wanted))
  );
}

/** The spec as the API server stores it: without unknown fields and with defaults. */
function asStored(crd: KubeObject): JsonObject {
  const spec = objectAt(toTypedForm(crd).object, ["spec"]);
  const kind = textAt(spec, ["names", "kind"]) ?? "";
  const names = { singular: kind.toLowerCase(), listKind: `${kind}List`, ...objectAt(spec, ["names"]) };
  return { ...spec, names, conversion: conversionOf(spec) };
}

const httpsPort = 443;

function conversionOf(spec: JsonObject): JsonObject {
  const conversion = { strategy: "None", ...objectAt(spec, ["conversion"]) };
  const service = memberAt(conversion, ["webhook", "clientConfig", "service"]);
  if (service === undefined) return conversion;
  const webhook = objectAt(conversion, ["webhook"]);
  const clientConfig = objectAt(webhook, ["clientConfig"]);
  const withPort = { port: httpsPort, ...(service as JsonObject) };
  return { ...conversion, webhook: { ...webhook, clientConfig: { ...clientConfig, service: withPort } } };
}
