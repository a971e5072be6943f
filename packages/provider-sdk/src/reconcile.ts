// SPDX-License-Identifier: Apache-2.0
// One reconcile of a managed resource, in the order of steps of crossplane-runtime, with its reasons and messages.

import { type Clock, type Log, parseGoDuration } from "@purlin/base";
import {
  type ControllerClient,
  type EventRecorder,
  type ReconcileContext,
  type ReconcileResult,
  type ReconcilerDefinition,
  withConditionTexts,
} from "@purlin/kube-controller";
import { isConflict, textOf } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  annotationOf,
  type ConditionText,
  hasFinalizer,
  isDeleted,
  isPaused,
  type KubeObject,
  keyOf,
  memberAt,
  objectAt,
  textAt,
  withFinalizer,
  withMember,
  withoutFinalizer,
} from "@purlin/kube-objects/object";
import { publishConnection } from "./connection.ts";
import {
  type ConnectionDetails,
  lateInitialized,
  type Managed,
  type ManagedResource,
  type ManagementPolicy,
  managementPolicyOf,
  type Observation,
} from "./managed-resource.ts";
import {
  annotationTime,
  externalAnnotations,
  externalNameOf,
  isCreateIncomplete,
  resolveReferences,
  wasCreatedWithin,
} from "./references.ts";

/** The dependencies of the controllers of managed resources. */
export interface ManagedDeps {
  readonly client: ControllerClient;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  /** A number from 0 to 1 that spreads polls; random unless given. */
  readonly jitter?: (() => number) | undefined;
}

interface ManagedContext extends ReconcileContext {
  readonly deps: ManagedDeps;
  readonly resource: ManagedResource;
  readonly policy: ManagementPolicy;
}

const managedFinalizer = "finalizer.managedresource.crossplane.io";
const fieldManager = "provider";
const defaultTimeoutMs = 60_000;
const graceMs = 30_000;
const defaultPollMs = 60_000;
/** Polls are spread by a tenth of the interval in both directions. */
const jitterShare = 0.1;

const creating: ConditionText = { type: "Ready", status: "False", reason: "Creating" };
const deleting: ConditionText = { type: "Ready", status: "False", reason: "Deleting" };
const synced: ConditionText = { type: "Synced", status: "True", reason: "ReconcileSuccess" };
const paused: ConditionText = { type: "Synced", status: "False", reason: "ReconcilePaused" };

/** A step that failed: its event, and the conditions to set. Thrown inside a reconcile, reported at its end. */
class StepError extends Error {
  readonly reason: string | undefined;
  readonly text: string;
  readonly ready: ConditionText | undefined;
  readonly retry: ReconcileResult;

  constructor(cause: unknown, { reason, prefix, ready, retry = { requeue: true } }: StepOptions) {
    const text = textOf(cause);
    super(prefix === undefined ? text : `${prefix}: ${text}`, { cause });
    this.reason = reason;
    this.text = text;
    this.ready = ready;
    this.retry = retry;
  }
}

interface StepOptions {
  /** The reason of the event; none is emitted without it. */
  readonly reason?: string | undefined;
  /** What failed, for the condition. */
  readonly prefix?: string | undefined;
  /** The condition Ready to set with it. */
  readonly ready?: ConditionText | undefined;
  readonly retry?: ReconcileResult | undefined;
}

async function step<T>(options: StepOptions, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (isConflictOf(error)) throw error;
    throw new StepError(error, options);
  }
}

function isConflictOf(error: unknown): boolean {
  return isConflict(error) || (error instanceof Error && error.cause !== undefined && isConflictOf(error.cause));
}

/** Reconciles managed resources of one kind. */
export function managedReconciler(resource: ManagedResource, deps: ManagedDeps): ReconcilerDefinition<ManagedContext> {
  const isLegacy = resource.scope === "Cluster";
  return {
    ...deps,
    type: resource.type,
    readError: "cannot get managed resource",
    timeoutMs: resource.timeoutMs ?? defaultTimeoutMs,
    statusGraceMs: graceMs,
    eventAnnotations: (object) => ({ "external-name": externalNameOf(object) }),
    extend: (context) => ({
      ...context,
      deps,
      resource,
      policy: managementPolicyOf(context.stored.object, isLegacy),
    }),
    async reconcile(context) {
      try {
        return await reconcileManaged(context);
      } catch (error) {
        if (!(error instanceof StepError)) throw error;
        if (error.reason !== undefined) context.emit({ type: "Warning", reason: error.reason, message: error.text });
        const failed: ConditionText = {
          type: "Synced",
          status: "False",
          reason: "ReconcileError",
          message: error.message,
        };
        await writeConditions(context, error.ready === undefined ? [failed] : [error.ready, failed]);
        return error.retry;
      }
    },
  };
}

async function reconcileManaged(context: ManagedContext): Promise<ReconcileResult> {
  const { policy, stored } = context;
  if (isPaused(stored.object) || policy.isPaused) return reportPaused(context);
  acknowledge(context);
  if (policy.problem !== undefined) {
    throw new StepError(new Error(policy.problem), { reason: "CannotUseInvalidManagementPolicy", retry: {} });
  }
  if (isDeleted(stored.object) && !policy.mayDelete) return finalize(context);
  await initialize(context);
  if (!isDeleted(stored.object)) await resolve(context);
  const observation = await observe(context);
  if (!observation.exists && policy.isObserveOnly) {
    throw new StepError(new Error("external resource does not exist"), {
      reason: "CannotObserveExternalResource",
      prefix: "observe failed",
      retry: { requeueAfterMs: pollIntervalOf(context) },
    });
  }
  const { creationGraceMs = graceMs } = context.resource;
  if (!observation.exists && wasCreatedWithin(stored.object, creationGraceMs, context.deps.clock.now())) {
    context.emit({
      reason: "PendingExternalResource",
      message: "Waiting for external resource existence to be confirmed",
    });
    return { requeue: true };
  }
  if (isDeleted(stored.object)) return remove(context, observation);
  return settle(context, observation);
}

async function reportPaused(context: ManagedContext): Promise<ReconcileResult> {
  const message = "Reconciliation is paused either through the `spec.managementPolicies` or the pause annotation";
  context.emit({ reason: "ReconciliationPaused", message });
  await writeConditions(context, [paused]);
  return {};
}

const requestAnnotation = "crossplane.io/reconcile-requested-at";

/** Records in the status that a reconcile was asked for; the next write of the status stores it. */
function acknowledge(context: ManagedContext): void {
  const token = annotationOf(context.stored.object, requestAnnotation);
  if (token === undefined || textAt(context.stored.object, ["status", "lastHandledReconcileAt"]) === token) return;
  context.emit({ reason: "ReconcileRequestHandled", message: "Handling reconcile request" });
}

/** Gives the external resource its name, and refuses to continue when an earlier creation may have made one without a name. */
async function initialize(context: ManagedContext): Promise<void> {
  const { resource, stored } = context;
  const isFromName = resource.externalName !== "fromCreate";
  if (isFromName && externalNameOf(stored.object) === "") {
    await step({ reason: "CannotInitializeManagedResource", prefix: "cannot update managed resource" }, () =>
      annotate(context, { [externalAnnotations.name]: stored.object.metadata.name ?? "" }),
    );
  }
  if (isFromName || !isCreateIncomplete(stored.object)) return;
  const text = `cannot determine creation result - remove the ${externalAnnotations.pending} annotation if it is safe to proceed`;
  throw new StepError(new Error(text), { reason: "CannotInitializeManagedResource", ready: creating, retry: {} });
}

/** References are not resolved while the resource is being deleted: what it refers to may be deleted, too. */
async function resolve(context: ManagedContext): Promise<void> {
  const { resource, stored, deps, signal } = context;
  const { references = [] } = resource;
  if (references.length === 0) return;
  await step({ reason: "CannotResolveResourceReferences" }, async () => {
    const resolved = await resolveReferences(stored.object, references, { client: deps.client, signal });
    if (resolved !== stored.object) stored.object = await update(context, resolved);
  });
}

async function observe(context: ManagedContext): Promise<Observation> {
  const { resource, stored } = context;
  const options = { reason: "CannotObserveExternalResource", prefix: "observe failed" };
  const observation = await step(options, () => call(context, (managed) => resource.observe(managed)));
  if (observation.atProvider !== undefined) {
    stored.object = withMember(stored.object, ["status", "atProvider"], observation.atProvider);
  }
  return observation;
}

async function remove(context: ManagedContext, { exists }: Observation): Promise<ReconcileResult> {
  const { resource, stored, emit } = context;
  // Other controllers may still need the external resource.
  if ((stored.object.metadata.finalizers ?? []).some((one) => one !== managedFinalizer)) return { requeue: true };
  if (!exists) return finalize(context);
  const options = { reason: "CannotDeleteExternalResource", prefix: "delete failed", ready: deleting };
  await step(options, () => call(context, (managed) => resource.delete(managed)));
  emit({ reason: "DeletedExternalResource", message: "Successfully requested deletion of external resource" });
  await writeConditions(context, [deleting, synced]);
  // Whether it is gone is observed, not assumed.
  return { requeue: true };
}

async function finalize(context: ManagedContext): Promise<ReconcileResult> {
  const { stored } = context;
  if (!hasFinalizer(stored.object, managedFinalizer)) return {};
  await step({ ready: deleting, prefix: "cannot remove finalizer" }, () =>
    update(context, withoutFinalizer(stored.object, managedFinalizer)),
  );
  return {};
}

async function settle(context: ManagedContext, observation: Observation): Promise<ReconcileResult> {
  const { policy, stored } = context;
  await publish(context, observation.connectionDetails);
  if (!hasFinalizer(stored.object, managedFinalizer)) {
    await step({ prefix: "cannot add finalizer" }, () =>
      store(context, withFinalizer(stored.object, managedFinalizer)),
    );
  }
  if (!observation.exists) {
    if (policy.mayCreate) return create(context);
  } else if (policy.mayLateInitialize) await lateInitialize(context, observation.lateInit);
  if (observation.exists && observation.upToDate === false && policy.mayUpdate) return change(context, observation);
  await writeConditions(context, [readiness(observation), synced]);
  return { requeueAfterMs: pollIntervalOf(context) };
}

async function create(context: ManagedContext): Promise<ReconcileResult> {
  const { resource, deps, emit } = context;
  const { clock } = deps;
  // Fails if the object is not the newest one: a stale cache must not create a second external resource.
  await step({ reason: "CannotUpdateManagedResource", prefix: "cannot update managed resource", ready: creating }, () =>
    annotate(context, { [externalAnnotations.pending]: annotationTime(clock.now()) }),
  );
  const options = { reason: "CannotCreateExternalResource", prefix: "create failed", ready: creating };
  const creation = await step(options, async () => {
    try {
      return await call(context, (managed) => resource.create(managed));
    } catch (error) {
      await record(context, { [externalAnnotations.failed]: annotationTime(clock.now()) }).catch((problem: unknown) => {
        const message = `cannot update managed resource annotations: ${textOf(problem)}`;
        emit({ type: "Warning", reason: "CannotUpdateManagedResource", message });
      });
      throw error;
    }
  });
  const { externalName, connectionDetails } = creation ?? {};
  const prefix = "cannot update managed resource annotations";
  await step({ reason: "CannotUpdateManagedResource", prefix, ready: creating }, () =>
    record(context, {
      ...(externalName !== undefined && { [externalAnnotations.name]: externalName }),
      [externalAnnotations.succeeded]: annotationTime(clock.now()),
    }),
  );
  await publish(context, connectionDetails, creating);
  emit({ reason: "CreatedExternalResource", message: "Successfully requested creation of external resource" });
  await writeConditions(context, [creating, synced]);
  return { requeue: true };
}

async function change(context: ManagedContext, observation: Observation): Promise<ReconcileResult> {
  const { resource, emit } = context;
  const options = { reason: "CannotUpdateExternalResource", prefix: "update failed", ready: readiness(observation) };
  const outcome = await step(options, () => call(context, (managed) => resource.update(managed)));
  if (outcome?.connectionDetails !== undefined) await publish(context, outcome.connectionDetails);
  emit({ reason: "UpdatedExternalResource", message: "Successfully requested update of external resource" });
  await writeConditions(context, [readiness(observation), synced]);
  return { requeueAfterMs: pollIntervalOf(context) };
}

function readiness({ exists, ready = true, message }: Observation): ConditionText {
  const isReady = exists && ready;
  const text = isReady ? undefined : (message ?? (exists ? undefined : "external resource does not exist"));
  const base = {
    type: "Ready",
    status: isReady ? "True" : "False",
    reason: isReady ? "Available" : "Unavailable",
  } as const;
  return text === undefined ? base : { ...base, message: text };
}

/** Fills fields that the user left open with the values that the external system chose. */
async function lateInitialize(context: ManagedContext, values: JsonObject | undefined): Promise<void> {
  const { stored } = context;
  if (values === undefined) return;
  const path = ["spec", "forProvider"];
  const before = objectAt(stored.object, path);
  const after = lateInitialized(before, values);
  if (after === before) return;
  await step({ reason: "CannotUpdateManagedResource", prefix: "cannot update managed resource" }, () =>
    store(context, withMember(stored.object, path, after)),
  );
}

function publish(
  context: ManagedContext,
  details: ConnectionDetails | undefined,
  ready?: ConditionText,
): Promise<void> {
  const { deps, stored, signal } = context;
  return step({ reason: "CannotPublishConnectionDetails", ready }, () =>
    publishConnection(stored.object, details, { client: deps.client, fieldManager, signal }),
  );
}

/** Calls the external system. A handler that ignores its signal is left behind at the deadline. */
async function call<T>(context: ManagedContext, action: (managed: Managed) => Promise<T>): Promise<T> {
  const { deps, stored, signal } = context;
  const { object } = stored;
  const managed: Managed = {
    object,
    externalName: externalNameOf(object),
    forProvider: objectAt(object, ["spec", "forProvider"]),
    atProvider: objectAt(object, ["status", "atProvider"]),
    signal,
    client: deps.client,
    log: deps.log,
  };
  signal.throwIfAborted();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const expire = (): void => reject(signal.reason);
  signal.addEventListener("abort", expire, { once: true });
  try {
    return await Promise.race([action(managed), late]);
  } finally {
    signal.removeEventListener("abort", expire);
  }
}

/** Stores metadata and spec; the status of the reconcile so far is kept. */
async function store(context: ManagedContext, object: KubeObject): Promise<void> {
  const status = memberAt(context.stored.object, ["status"]);
  const stored = await update(context, object);
  context.stored.object = withMember(stored, ["status"], status);
}

function update({ deps, statusSignal }: ManagedContext, object: KubeObject): Promise<KubeObject> {
  return deps.client.update(object, { fieldManager, signal: statusSignal });
}

function annotate(context: ManagedContext, annotations: Readonly<Record<string, string>>): Promise<void> {
  const { object } = context.stored;
  return store(
    context,
    withMember(object, ["metadata", "annotations"], { ...object.metadata.annotations, ...annotations }),
  );
}

/** Stores annotations that must not be lost, whatever else changed meanwhile. */
async function record(context: ManagedContext, annotations: Readonly<Record<string, string>>): Promise<void> {
  const { deps, resource, stored, statusSignal } = context;
  const status = memberAt(stored.object, ["status"]);
  const at = { ...resource.type, ...keyOf(stored.object) };
  const options = { type: "merge", fieldManager, signal: statusSignal } as const;
  stored.object = withMember(await deps.client.patch(at, { metadata: { annotations } }, options), ["status"], status);
}

async function writeConditions(context: ManagedContext, texts: readonly ConditionText[]): Promise<void> {
  const { deps, stored } = context;
  const token = annotationOf(stored.object, requestAnnotation);
  const acknowledged =
    token === undefined ? stored.object : withMember(stored.object, ["status", "lastHandledReconcileAt"], token);
  const after = withConditionTexts(acknowledged, texts, deps.clock);
  const before = await deps.client.get(context.resource.type, context.key, { signal: context.statusSignal });
  if (before === undefined) return;
  // The status was collected on the way; what is stored decides whether there is anything to write.
  stored.object = { ...stored.object, status: memberAt(before, ["status"]) } as KubeObject;
  await context.writeStatus(after);
}

/** How long until the external resource is observed again, spread so that a provider does not poll everything at once. */
function pollIntervalOf({ resource, stored, deps }: ManagedContext): number {
  const asked = parseGoDuration(annotationOf(stored.object, "crossplane.io/poll-interval") ?? "");
  const interval = asked !== undefined && asked > 0 ? asked : (resource.pollIntervalMs ?? defaultPollMs);
  const { jitter = Math.random } = deps;
  return Math.round(interval * (1 + (2 * jitter() - 1) * jitterShare));
}
