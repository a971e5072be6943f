// SPDX-License-Identifier: Apache-2.0

import type { ProcessState } from "@purlin/function-process";
import type { DevelopmentFunction, IgnoredDevelopment } from "@purlin/function-runner";
import { withConditionTexts } from "@purlin/kube-controller";
import {
  type ConditionText,
  conditionOf,
  conditionsOf,
  type KubeObject,
  textAt,
  withConditions,
} from "@purlin/kube-objects/object";
import type { PackageContext } from "./plan-states.ts";

const installed: ConditionText = { type: "Installed", status: "True", reason: "DevelopmentFunction" };
const servingReason = "SourceServing";
const failedReason = "SourceFailed";
const ignoredType = "Development";
const ignoredReason = "AnnotationIgnored";

/** Reports on a Function under development. Where another program serves it, there is nothing to report. */
export async function reportDevelopment(context: PackageContext, { kind }: DevelopmentFunction): Promise<void> {
  if (await reportIgnored(context, undefined)) return;
  if (kind === "target") return forgetSource(context);
  const state = context.sourceState?.(context.package.metadata.name ?? "");
  if (state !== undefined) await reportSource(context, state);
}

/**
 * Reports that development annotations have no effect, and why: in a condition, and in an event when that is new. Removes the condition once it
 * no longer holds. Resolves to whether the Function was written; the write brings the next reconcile.
 */
export async function reportIgnored(
  context: PackageContext,
  ignored: IgnoredDevelopment | undefined,
): Promise<boolean> {
  const known = conditionsOf(context.package).find(({ type }) => type === ignoredType);
  if (known?.message === ignored?.message) return false;
  await context.writeStatus(ignored === undefined ? withoutIgnored(context.package) : withIgnored(context, ignored));
  if (ignored !== undefined) context.emit({ type: "Warning", reason: ignoredReason, message: ignored.message });
  return true;
}

function withIgnored({ clock, package: object }: PackageContext, { message }: IgnoredDevelopment): KubeObject {
  return withConditionTexts(object, [{ type: ignoredType, status: "False", reason: ignoredReason, message }], clock);
}

function withoutIgnored(object: KubeObject): KubeObject {
  return withConditions(
    object,
    conditionsOf(object).filter(({ type }) => type !== ignoredType),
  );
}

/** Removes what was reported about a source file that the Function no longer names. */
async function forgetSource(context: PackageContext): Promise<void> {
  const conditions = conditionsOf(context.package);
  const kept = conditions.filter(({ reason }) => reason !== servingReason && reason !== failedReason);
  if (kept.length < conditions.length) await context.writeStatus(withConditions(context.package, kept));
}

/** Writes the state of the process that runs a Function's source file to the Function: conditions, and an event for each new failure. */
async function reportSource(context: PackageContext, state: ProcessState): Promise<void> {
  // The outcome is reported; a start that takes a moment is not worth two writes.
  if (state.phase === "starting") return;
  const health = healthOfSource(state);
  const before = conditionOf(conditionsOf(context.package), "Healthy");
  await context.writeStatus(withConditionTexts(context.package, [installed, health], context.clock));
  if (health.status !== "False" || health.message === before.message) return;
  context.emit({ type: "Warning", reason: failedReason, message: health.message ?? "" });
}

function healthOfSource(state: Exclude<ProcessState, { readonly phase: "starting" }>): ConditionText {
  const { problem } = state;
  if (problem === undefined) return { type: "Healthy", status: "True", reason: servingReason };
  const message = state.phase === "serving" ? `${problem} (the last working version keeps serving)` : problem;
  return { type: "Healthy", status: "False", reason: failedReason, message };
}

/** The health of a package, from the conditions of its current revision. */
export function healthOf(revision: KubeObject | undefined, hasRuntime: boolean): ConditionText {
  const conditions = revision === undefined ? [] : conditionsOf(revision);
  const own = conditionOf(conditions, "RevisionHealthy");
  const isAsleep = conditionOf(conditions, "RuntimeActive").reason === "AwaitingActivation";
  const asleep = isAsleep ? "; runtime is scaled to zero awaiting activation" : "";
  if (own.status !== "True") return unhealthy(`Package revision health is "${own.status}"`, own.message, asleep);
  if (!hasRuntime) return healthy;
  const runtime = conditionOf(conditions, "RuntimeHealthy");
  if (runtime.status !== "True") return unhealthy(`Package runtime health is "${runtime.status}"`, runtime.message);
  const active = conditionOf(conditions, "RuntimeActive");
  // Notes about a healthy runtime, such as a missing sandbox, are shown on the package.
  if (active.status !== "False") return { ...healthy, ...(runtime.message && { message: runtime.message }) };
  return { ...healthy, reason: "AwaitingActivation", ...(active.message && { message: active.message }) };
}

const healthy: ConditionText = { type: "Healthy", status: "True", reason: "HealthyPackageRevision" };

function unhealthy(text: string, detail: string | undefined, note = ""): ConditionText {
  const message = `${detail ? `${text} with message: ${detail}` : text}${note}`;
  return { type: "Healthy", status: "False", reason: "UnhealthyPackageRevision", message };
}

/** Whether the current revision is active. */
export function installationOf(revision: KubeObject): ConditionText {
  const type = "Installed";
  if (textAt(revision, ["spec", "desiredState"]) === "Active") {
    return { type, status: "True", reason: "ActivePackageRevision" };
  }
  return { type, status: "False", reason: "InactivePackageRevision", message: "Package is inactive" };
}

/** The conditions of a package that cannot be fetched. */
export function unpackingFailed(message: string): readonly ConditionText[] {
  return [
    { type: "Installed", status: "False", reason: "UnpackingPackage", message },
    { type: "Healthy", status: "False", reason: "UnhealthyPackageRevision", message },
  ];
}
