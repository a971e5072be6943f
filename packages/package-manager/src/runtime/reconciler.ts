// SPDX-License-Identifier: Apache-2.0

import {
  attempt,
  explainTimeout,
  isReconcileError,
  type ReconcileContext,
  ReconcileError,
  type ReconcileResult,
  type ReconcilerDefinition,
  type StepText,
  withConditionTexts,
  writeStatus,
} from "@purlin/kube-controller";
import { isJsonObject } from "@purlin/kube-objects/json";
import {
  type ConditionText,
  conditionOf,
  conditionsOf,
  isDeleted,
  type KubeObject,
  memberAt,
  textAt,
  textsAt,
  withConditions,
  withMember,
} from "@purlin/kube-objects/object";
import { isActiveDefinition, managedDefinitionType, startsSafely } from "../establish/package-objects.ts";
import type { PackageDeps } from "../package-deps.ts";
import type { PackageType } from "../package-kinds.ts";
import type { PackageRuntime, RuntimePreparation, RuntimeReport } from "./package-runtime.ts";

const timeoutMs = 180_000;

const steps = {
  prepare: { reason: "SyncPackage", text: "cannot prepare package runtime" },
  run: { reason: "SyncPackage", text: "cannot run package" },
  retire: { reason: "SyncPackage", text: "cannot stop package runtime" },
} as const;

interface RuntimeReconcileContext extends PackageDeps, ReconcileContext {
  readonly runtime: PackageRuntime;
  readonly type: PackageType;
  readonly revision: KubeObject;
}

/** Runs the program of a revision while it is active, and reports its health and its endpoint. */
export function runtimeReconciler(
  deps: PackageDeps,
  { runtime, type }: { readonly runtime: PackageRuntime; readonly type: PackageType },
): ReconcilerDefinition<RuntimeReconcileContext> {
  return {
    ...deps,
    type: type.revision,
    timeoutMs,
    onPause: "stop",
    onGone: async ({ key, signal }) =>
      again(await runtime.retire({ type, revision: { ...type.revision, metadata: { name: key.name } }, signal })),
    extend: (context) => ({ ...deps, ...context, runtime, type, revision: context.stored.object }),
    async reconcile(context) {
      const state = textAt(context.revision, ["spec", "desiredState"]);
      if (isDeleted(context.revision) || state === "Inactive") return retire(context);
      return state === "Active" ? run(context) : idle(context);
    },
    onFailure: ({ message }, context) => writeRuntimeStatus(context, context.revision, [unhealthy(message)]),
  };
}

/** An error of a runtime keeps its own reason if it has one. */
async function step<T>(context: RuntimeReconcileContext, text: StepText, action: () => Promise<T>): Promise<T> {
  return attempt(text, () => explainTimeout(context, action)).catch((error: ReconcileError) => {
    const { cause } = error;
    throw isReconcileError(cause) ? new ReconcileError(cause.reason, error.message, cause) : error;
  });
}

/** Removes the endpoint before the program stops, so that no caller is sent to it. */
async function retire(context: RuntimeReconcileContext): Promise<ReconcileResult> {
  const { clock, runtime, revision } = context;
  const without = withMember(revision, ["status", "endpoint"], undefined);
  const conditions = conditionsOf(revision).filter(({ type }) => type !== active.type);
  await context.writeStatus(withConditionTexts(withConditions(without, conditions), [inactive], clock));
  return again(await step(context, steps.retire, () => runtime.retire(context)));
}

/** A revision that was never activated runs nothing and is healthy. */
async function idle(context: RuntimeReconcileContext): Promise<ReconcileResult> {
  const { runtime, revision } = context;
  const retirement = await step(context, steps.retire, () => runtime.retire(context));
  const isInstalled = conditionOf(conditionsOf(revision), "RevisionHealthy").status === "True";
  const text = isInstalled ? { ...healthy } : unhealthy("Package revision is not healthy yet");
  await writeRuntimeStatus(context, revision, [text]);
  return again(retirement);
}

function again({ requeueAfterMs }: { readonly requeueAfterMs?: number | undefined }): ReconcileResult {
  return requeueAfterMs === undefined ? {} : { requeueAfterMs };
}

async function run(context: RuntimeReconcileContext): Promise<ReconcileResult> {
  const { runtime } = context;
  const prepared = await step(context, steps.prepare, () => runtime.prepare(context));
  const named = withPreparation(context.revision, prepared);
  if (conditionOf(conditionsOf(context.revision), "RevisionHealthy").status !== "True") {
    await writeRuntimeStatus(context, named, [unhealthy("Package revision is not healthy yet")]);
    return {};
  }
  if (await awaitsActivation(context)) {
    await step(context, steps.run, async () => runtime.hold?.(context));
    await writeRuntimeStatus(context, named, [healthy, awaitingActivation]);
    return {};
  }
  if (conditionOf(conditionsOf(context.revision), active.type).reason === awaitingActivation.reason) {
    // Before it runs: it is not scaled to zero again, also if it never becomes healthy.
    await writeRuntimeStatus(context, named, [unhealthy("Package runtime is starting"), active]);
  }
  const report = await step(context, steps.run, () => runtime.run(context));
  if (report.isProblem === true) warnOnce(context, report.message ?? "");
  // A revision that has served keeps its endpoint while its program is started again: callers wait, and its successor has to serve first.
  const endpoint = report.endpoint ?? textAt(context.revision, ["status", "endpoint"]);
  await writeRuntimeStatus(context, withMember(named, ["status", "endpoint"], endpoint), conditionsFor(report));
  if (report.isHealthy) emitStarted(context);
  return again(report);
}

/**
 * Whether a provider need not run yet: it starts safely, has managed resource definitions, and none of them is active. A revision
 * that ran once keeps running.
 */
async function awaitsActivation({
  client,
  type,
  revision,
  features,
  signal,
}: RuntimeReconcileContext): Promise<boolean> {
  if (type.kind !== "Provider" || features.managedResourceConversion !== true) return false;
  if (!startsSafely(textsAt(revision, ["status", "capabilities"]))) return false;
  if (conditionOf(conditionsOf(revision), active.type).reason === active.reason) return false;
  const controlled = await client.list(managedDefinitionType, { controller: revision.metadata.uid ?? "", signal });
  return controlled.length > 0 && !controlled.some(isActiveDefinition);
}

function emitStarted({ emit, revision }: RuntimeReconcileContext): void {
  if (conditionOf(conditionsOf(revision), "RuntimeHealthy").status === "True") return;
  emit({ reason: steps.run.reason, message: "Successfully started package runtime" });
}

/** Emits a problem when it arises, and not again while it lasts. */
function warnOnce({ emit, revision }: RuntimeReconcileContext, message: string): void {
  if (conditionOf(conditionsOf(revision), "RuntimeHealthy").message === message) return;
  emit({ type: "Warning", reason: steps.run.reason, message });
}

function withPreparation(revision: KubeObject, prepared: RuntimePreparation): KubeObject {
  const { tlsServerSecretName: server, tlsClientSecretName: client, imageConfig } = prepared;
  const named = withMember(revision, ["status", "tlsServerSecretName"], server);
  const applied = withRuntimeImageConfig(named, imageConfig);
  return withMember(applied, ["status", "tlsClientSecretName"], client);
}

/** The controller of revisions reports the other ImageConfigs. */
function withRuntimeImageConfig(revision: KubeObject, name: string | undefined): KubeObject {
  const path = ["status", "appliedImageConfigRefs"];
  const stored = memberAt(revision, path);
  const others = (Array.isArray(stored) ? stored : []).filter(
    (one) => isJsonObject(one) && one["reason"] !== "ConfigureRuntime",
  );
  const all = name === undefined ? others : [...others, { name, reason: "ConfigureRuntime" }];
  return withMember(revision, path, all.length > 0 ? all : undefined);
}

const healthy = { type: "RuntimeHealthy", status: "True", reason: "HealthyPackageRevision" } as const;
const active = { type: "RuntimeActive", status: "True", reason: "ActiveRuntime" } as const;

const awaitingActivation: ConditionText = {
  type: "RuntimeActive",
  status: "False",
  reason: "AwaitingActivation",
  message: "Package runtime is scaled to zero; awaiting the first ManagedResourceDefinition to be activated",
};

/** The runtime of an inactive revision is neither healthy nor unhealthy. */
const inactive: ConditionText = {
  type: "RuntimeHealthy",
  status: "Unknown",
  reason: "InactivePackageRevision",
  message: "Package revision is inactive",
};

function conditionsFor({ isHealthy, message }: RuntimeReport): readonly ConditionText[] {
  if (!isHealthy) return [unhealthy(message ?? "Package runtime is starting")];
  return [{ ...healthy, ...(message !== undefined && { message }) }, active];
}

function unhealthy(message: string): ConditionText {
  return { type: "RuntimeHealthy", status: "False", reason: "UnhealthyPackageRevision", message };
}

/** Merges the fields of the runtime into the status as it is stored now: the controller of revisions writes it too. */
async function writeRuntimeStatus(
  { client, clock, type, revision, statusSignal: signal }: RuntimeReconcileContext,
  wanted: KubeObject,
  texts: readonly ConditionText[],
): Promise<void> {
  const before = await client.get(type.revision, { name: revision.metadata.name ?? "" }, { signal });
  if (before === undefined) return;
  let after = before;
  for (const field of ["tlsServerSecretName", "tlsClientSecretName", "endpoint"]) {
    after = withMember(after, ["status", field], textAt(wanted, ["status", field]));
  }
  after = withRuntimeImageConfig(after, runtimeImageConfigOf(wanted));
  await writeStatus(client, { before, after: withConditionTexts(after, texts, clock), signal });
}

function runtimeImageConfigOf(revision: KubeObject): string | undefined {
  const stored = memberAt(revision, ["status", "appliedImageConfigRefs"]);
  const found = (Array.isArray(stored) ? stored : []).find(
    (one) => isJsonObject(one) && one["reason"] === "ConfigureRuntime",
  );
  return isJsonObject(found) ? textAt(found, ["name"]) : undefined;
}
