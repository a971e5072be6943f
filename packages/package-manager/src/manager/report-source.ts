// SPDX-License-Identifier: Apache-2.0

import type { ProcessState } from "@purlin/function-process";
import type { DevelopmentFunction, IgnoredDevelopment } from "@purlin/function-runner";
import { withConditionTexts } from "@purlin/kube-controller";
import {
  type ConditionText,
  conditionOf,
  conditionsOf,
  type KubeObject,
  withConditions,
} from "@purlin/kube-objects/object";
import type { PackagePass } from "./package-pass.ts";

const installed: ConditionText = { type: "Installed", status: "True", reason: "DevelopmentFunction" };
const servingReason = "SourceServing";
const failedReason = "SourceFailed";
const ignoredType = "Development";
const ignoredReason = "AnnotationIgnored";

/** Reports on a Function under development. Where another program serves it, there is nothing to report. */
export async function reportDevelopment(pass: PackagePass, { kind }: DevelopmentFunction): Promise<void> {
  if (await reportIgnored(pass, undefined)) return;
  if (kind === "target") return forgetSource(pass);
  const state = pass.sourceState?.(pass.package.metadata.name ?? "");
  if (state !== undefined) await reportSource(pass, state);
}

/**
 * Says that development annotations have no effect, and why: a condition, and an event when that is new. Removes the condition once it
 * no longer holds. Resolves to whether the Function was written; the write brings the next pass.
 */
export async function reportIgnored(pass: PackagePass, ignored: IgnoredDevelopment | undefined): Promise<boolean> {
  const known = conditionsOf(pass.package).find(({ type }) => type === ignoredType);
  if (known?.message === ignored?.message) return false;
  await pass.writeStatus(ignored === undefined ? withoutIgnored(pass.package) : withIgnored(pass, ignored));
  if (ignored !== undefined) pass.emit({ type: "Warning", reason: ignoredReason, message: ignored.message });
  return true;
}

function withIgnored({ clock, package: object }: PackagePass, { message }: IgnoredDevelopment): KubeObject {
  return withConditionTexts(object, [{ type: ignoredType, status: "False", reason: ignoredReason, message }], clock);
}

function withoutIgnored(object: KubeObject): KubeObject {
  return withConditions(
    object,
    conditionsOf(object).filter(({ type }) => type !== ignoredType),
  );
}

/** Removes what was reported about a source file that the Function no longer names. */
async function forgetSource(pass: PackagePass): Promise<void> {
  const conditions = conditionsOf(pass.package);
  const kept = conditions.filter(({ reason }) => reason !== servingReason && reason !== failedReason);
  if (kept.length < conditions.length) await pass.writeStatus(withConditions(pass.package, kept));
}

/** Writes the state of the process that runs a Function's source file to the Function: conditions, and an event for each new failure. */
async function reportSource(pass: PackagePass, state: ProcessState): Promise<void> {
  // The outcome is reported; a start that takes a moment is not worth two writes.
  if (state.phase === "starting") return;
  const health = healthOfSource(state);
  const before = conditionOf(conditionsOf(pass.package), "Healthy");
  await pass.writeStatus(withConditionTexts(pass.package, [installed, health], pass.clock));
  if (health.status !== "False" || health.message === before.message) return;
  pass.emit({ type: "Warning", reason: failedReason, message: health.message ?? "" });
}

function healthOfSource(state: Exclude<ProcessState, { readonly phase: "starting" }>): ConditionText {
  const { problem } = state;
  if (problem === undefined) return { type: "Healthy", status: "True", reason: servingReason };
  const message = state.phase === "serving" ? `${problem} (the last good version keeps serving)` : problem;
  return { type: "Healthy", status: "False", reason: failedReason, message };
}
