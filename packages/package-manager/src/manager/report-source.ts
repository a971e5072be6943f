// SPDX-License-Identifier: Apache-2.0
import { type ConditionText, conditionOf, conditionsOf } from "@purlin/kube-controller";
import { withTexts } from "../package-status.ts";
import type { ProcessState } from "../process/function-process.ts";
import { type PackagePass, store, tellWarning } from "./package-pass.ts";

const installed: ConditionText = { type: "Installed", status: "True", reason: "DevelopmentFunction" };
const failedReason = "SourceFailed";

/** Writes the state of the process that runs a Function's source file to the Function: conditions, and an event for each new failure. */
export async function reportSource(pass: PackagePass, state: ProcessState): Promise<void> {
  // The outcome is reported; a start that takes a moment is not worth two writes.
  if (state.phase === "starting") return;
  const health = healthOfSource(state);
  const before = conditionOf(conditionsOf(pass.package), "Healthy");
  await store(pass, withTexts(pass.clock, pass.package, [installed, health]));
  if (health.status !== "False" || health.message === before.message) return;
  tellWarning(pass, failedReason, health.message ?? "");
}

function healthOfSource(state: Exclude<ProcessState, { readonly phase: "starting" }>): ConditionText {
  const { problem } = state;
  if (problem === undefined) return { type: "Healthy", status: "True", reason: "SourceServing" };
  const message = state.phase === "serving" ? `${problem} (the last good version keeps serving)` : problem;
  return { type: "Healthy", status: "False", reason: failedReason, message };
}
