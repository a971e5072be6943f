// SPDX-License-Identifier: Apache-2.0

import {
  attempt,
  isReconcileFailure,
  ReconcileFailure,
  type ReconcileResult,
  type StepText,
} from "@purlin/kube-controller";
import { isConflict } from "@purlin/kube-objects/errors";
import { isJsonObject } from "@purlin/kube-objects/json";
import {
  type ConditionText,
  conditionOf,
  conditionsOf,
  isDeleted,
  isPaused,
  type KubeObject,
  memberAt,
  type ObjectKey,
  textAt,
  withConditions,
  withMember,
} from "@purlin/kube-objects/object";
import type { PackagePorts } from "../manager/package-manager-ports.ts";
import type { PackageType } from "../package-kinds.ts";
import { withTexts, writeStatus } from "../package-status.ts";
import { inTime, type PassSignals, passSignals } from "../pass-signals.ts";
import type { PackageRuntime, RuntimePreparation, RuntimeReport } from "./package-runtime.ts";

const passMs = 180_000;

const steps = {
  prepare: { reason: "SyncPackage", text: "cannot prepare package runtime" },
  run: { reason: "SyncPackage", text: "cannot run package" },
  retire: { reason: "SyncPackage", text: "cannot stop package runtime" },
} as const;

interface RevisionRuntimePass extends PackagePorts, PassSignals {
  readonly runtime: PackageRuntime;
  readonly type: PackageType;
  readonly revision: KubeObject;
}

/** Keeps the program of a revision running while it is active, and tells how it is and where it answers. */
export async function reconcileRuntime(
  ports: PackagePorts,
  { runtime, type }: { readonly runtime: PackageRuntime; readonly type: PackageType },
  {
    key,
    stopping,
    timeoutMs = passMs,
  }: { readonly key: ObjectKey; readonly stopping: AbortSignal; readonly timeoutMs?: number },
): Promise<ReconcileResult> {
  const signals = passSignals(stopping, timeoutMs);
  const { signal } = signals;
  const revision = await ports.client.get(type.revision, key, { signal });
  if (revision === undefined) {
    return again(await runtime.retire({ type, revision: { ...type.revision, metadata: { name: key.name } }, signal }));
  }
  if (isPaused(revision)) return {};
  const pass: RevisionRuntimePass = { ...ports, runtime, type, revision, ...signals };
  try {
    const state = textAt(revision, ["spec", "desiredState"]);
    if (isDeleted(revision) || state === "Inactive") return await retire(pass);
    if (state !== "Active") return await idle(pass);
    return await run(pass);
  } catch (error) {
    if (!isConflict(error)) await fail(pass, error);
    throw error;
  }
}

/** What a runtime throws keeps its own reason where it has one. */
async function step<T>(pass: RevisionRuntimePass, text: StepText, action: () => Promise<T>): Promise<T> {
  return attempt(text, () => inTime(pass, action)).catch((error: ReconcileFailure) => {
    const { cause } = error;
    throw isReconcileFailure(cause) ? new ReconcileFailure(cause.reason, error.message, cause) : error;
  });
}

/** No caller is sent to a revision that is about to stop: the endpoint goes first. */
async function retire(pass: RevisionRuntimePass): Promise<ReconcileResult> {
  const { client, clock, runtime, revision, signal } = pass;
  const without = withMember(revision, ["status", "endpoint"], undefined);
  const conditions = conditionsOf(revision).filter(({ type }) => type !== active.type);
  const after = withTexts(clock, withConditions(without, conditions), [inactive]);
  await writeStatus(client, { before: revision, after, signal });
  return again(await step(pass, steps.retire, () => runtime.retire(pass)));
}

/** One that nobody activated runs nothing, and that is as it should be. */
async function idle(pass: RevisionRuntimePass): Promise<ReconcileResult> {
  const { runtime, revision } = pass;
  const retirement = await step(pass, steps.retire, () => runtime.retire(pass));
  const isInstalled = conditionOf(conditionsOf(revision), "RevisionHealthy").status === "True";
  const text = isInstalled ? { ...healthy } : unhealthy("Package revision is not healthy yet");
  await tell(pass, revision, [text]);
  return again(retirement);
}

function again({ requeueAfterMs }: { readonly requeueAfterMs?: number | undefined }): ReconcileResult {
  return requeueAfterMs === undefined ? {} : { requeueAfterMs };
}

async function run(pass: RevisionRuntimePass): Promise<ReconcileResult> {
  const { runtime } = pass;
  const prepared = await step(pass, steps.prepare, () => runtime.prepare(pass));
  const named = withPreparation(pass.revision, prepared);
  if (conditionOf(conditionsOf(pass.revision), "RevisionHealthy").status !== "True") {
    await tell(pass, named, [unhealthy("Package revision is not healthy yet")]);
    return {};
  }
  const report = await step(pass, steps.run, () => runtime.run(pass));
  if (report.isProblem === true) warnOnce(pass, report.message ?? "");
  // A revision that has served keeps its endpoint while its program is started again: callers wait, and its successor has to serve first.
  const endpoint = report.endpoint ?? textAt(pass.revision, ["status", "endpoint"]);
  await tell(pass, withMember(named, ["status", "endpoint"], endpoint), conditionsFor(report));
  if (report.isHealthy) tellStarted(pass);
  return again(report);
}

function tellStarted({ events, revision }: RevisionRuntimePass): void {
  if (conditionOf(conditionsOf(revision), "RuntimeHealthy").status === "True") return;
  const message = "Successfully started package runtime";
  events.event(revision, { type: "Normal", reason: steps.run.reason, message });
}

/** A problem is told when it arises, and not again while it lasts. */
function warnOnce({ events, revision }: RevisionRuntimePass, message: string): void {
  if (conditionOf(conditionsOf(revision), "RuntimeHealthy").message === message) return;
  events.event(revision, { type: "Warning", reason: steps.run.reason, message });
}

function withPreparation(revision: KubeObject, prepared: RuntimePreparation): KubeObject {
  const { tlsServerSecretName: server, tlsClientSecretName: client, imageConfig } = prepared;
  const named = withMember(revision, ["status", "tlsServerSecretName"], server);
  const applied = withRuntimeImageConfig(named, imageConfig);
  return withMember(applied, ["status", "tlsClientSecretName"], client);
}

/** The other ImageConfigs are told by whoever fetched the package. */
function withRuntimeImageConfig(revision: KubeObject, name: string | undefined): KubeObject {
  const path = ["status", "appliedImageConfigRefs"];
  const told = memberAt(revision, path);
  const others = (Array.isArray(told) ? told : []).filter(
    (one) => isJsonObject(one) && one["reason"] !== "ConfigureRuntime",
  );
  const all = name === undefined ? others : [...others, { name, reason: "ConfigureRuntime" }];
  return withMember(revision, path, all.length > 0 ? all : undefined);
}

const healthy = { type: "RuntimeHealthy", status: "True", reason: "HealthyPackageRevision" } as const;
const active = { type: "RuntimeActive", status: "True", reason: "ActiveRuntime" } as const;

/** A revision whose program is not to run is neither healthy nor unhealthy. */
const inactive: ConditionText = {
  type: "RuntimeHealthy",
  status: "Unknown",
  reason: "InactivePackageRevision",
  message: "Package revision is inactive",
};

function conditionsFor({ isHealthy, message }: RuntimeReport): readonly ConditionText[] {
  if (!isHealthy) return [unhealthy(message ?? "Package runtime is starting")];
  const told = message === undefined ? {} : { message };
  return [{ ...healthy, ...told }, active];
}

function unhealthy(message: string): ConditionText {
  return { type: "RuntimeHealthy", status: "False", reason: "UnhealthyPackageRevision", message };
}

/** Writes over the status as it is now: the revision's own controller writes there too. */
async function tell(pass: RevisionRuntimePass, told: KubeObject, texts: readonly ConditionText[]): Promise<void> {
  const { client, clock, type, revision, telling: signal } = pass;
  const before = await client.get(type.revision, { name: revision.metadata.name ?? "" }, { signal });
  if (before === undefined) return;
  let after = before;
  for (const field of ["tlsServerSecretName", "tlsClientSecretName", "endpoint"]) {
    after = withMember(after, ["status", field], textAt(told, ["status", field]));
  }
  after = withRuntimeImageConfig(after, runtimeImageConfigOf(told));
  await writeStatus(client, { before, after: withTexts(clock, after, texts), signal });
}

function runtimeImageConfigOf(revision: KubeObject): string | undefined {
  const told = memberAt(revision, ["status", "appliedImageConfigRefs"]);
  const found = (Array.isArray(told) ? told : []).find(
    (one) => isJsonObject(one) && one["reason"] === "ConfigureRuntime",
  );
  return isJsonObject(found) ? textAt(found, ["name"]) : undefined;
}

async function fail(pass: RevisionRuntimePass, error: unknown): Promise<void> {
  if (!isReconcileFailure(error) || pass.telling.aborted) return;
  const { reason, message } = error;
  pass.events.event(pass.revision, { type: "Warning", reason, message });
  await tell(pass, pass.revision, [unhealthy(message)]);
}
