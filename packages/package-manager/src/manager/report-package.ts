// SPDX-License-Identifier: Apache-2.0

import type { JsonObject } from "@purlin/kube-objects";
import { conditionOf, conditionsOf, type KubeObject, textAt } from "@purlin/kube-objects/object";
import type { ResolvedPackage } from "../fetch/package-client.ts";
import { withTexts } from "../package-status.ts";
import { healthOf, installationOf } from "./package-health.ts";
import { type PackagePass, steps, store } from "./package-pass.ts";

/** Says what the package is now: its current revision, who is active, where it came from, and how it is. */
export async function reportPackage(
  pass: PackagePass,
  { stored, resolved, active }: { stored: KubeObject; resolved: ResolvedPackage; active: readonly string[] },
): Promise<void> {
  const { type, events, isRollout } = pass;
  const hasRuntime = type.hasRuntime;
  const health = healthOf(stored, hasRuntime);
  const before = conditionOf(conditionsOf(pass.package), "Healthy").status;
  if (health.status === "True" && before !== "True") {
    const message = "Successfully installed package revision";
    events.event(pass.package, { type: "Normal", reason: steps.install.reason, message });
  }
  const status: Record<string, unknown> = {
    ...(pass.package["status"] as JsonObject | undefined),
    currentRevision: stored.metadata.name,
    currentIdentifier: textAt(pass.package, ["spec", "package"]),
    resolvedPackage: resolved.resolved,
  };
  if (resolved.applied.length > 0) status["appliedImageConfigRefs"] = resolved.applied;
  else delete status["appliedImageConfigRefs"];
  if (isRollout) status["activeRevisions"] = namesOfActive(stored, active);
  else delete status["activeRevisions"];
  const told = { ...pass.package, status } as KubeObject;
  await store(pass, withTexts(pass.clock, told, [installationOf(stored), health]));
}

function namesOfActive(current: KubeObject, older: readonly string[]): readonly string[] {
  const isActive = textAt(current, ["spec", "desiredState"]) === "Active";
  return [...(isActive ? [current.metadata.name ?? ""] : []), ...older];
}
