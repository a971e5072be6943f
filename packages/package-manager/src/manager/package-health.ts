// SPDX-License-Identifier: Apache-2.0
import { type ConditionText, conditionOf, conditionsOf, type KubeObject, textAt } from "@purlin/kube-objects/object";

/** What the current revision says about the health of its package. */
export function healthOf(revision: KubeObject | undefined, hasRuntime: boolean): ConditionText {
  const conditions = revision === undefined ? [] : conditionsOf(revision);
  const own = conditionOf(conditions, "RevisionHealthy");
  if (own.status !== "True") return unhealthy(`Package revision health is "${own.status}"`, own.message);
  if (!hasRuntime) return healthy;
  const runtime = conditionOf(conditions, "RuntimeHealthy");
  if (runtime.status !== "True") return unhealthy(`Package runtime health is "${runtime.status}"`, runtime.message);
  const active = conditionOf(conditions, "RuntimeActive");
  // What there is to know about a runtime that works, such as that it has no sandbox, is said where users look.
  if (active.status !== "False") return { ...healthy, ...(runtime.message && { message: runtime.message }) };
  return { ...healthy, reason: "AwaitingActivation", ...(active.message && { message: active.message }) };
}

const healthy: ConditionText = { type: "Healthy", status: "True", reason: "HealthyPackageRevision" };

function unhealthy(text: string, detail: string | undefined): ConditionText {
  const message = detail ? `${text} with message: ${detail}` : text;
  return { type: "Healthy", status: "False", reason: "UnhealthyPackageRevision", message };
}

/** Whether the current revision is in charge. */
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
