// SPDX-License-Identifier: Apache-2.0
import { conditionOf, conditionsOf, type KubeObject, memberAt } from "@purlin/kube-objects/object";
import type { PackageKind } from "@purlin/oci";

/** How a Deployment is. */
export interface DeploymentState {
  /** Why it does not serve; undefined while it does. */
  readonly problem: string | undefined;
  /** Kubernetes says that it does not serve; otherwise it says nothing yet. */
  readonly isBroken: boolean;
  /** It serves, and what serves is what was last asked for, or may still be what was asked for before. */
  readonly isServing: boolean;
  /** Nothing is left of what was asked for before. */
  readonly isRolledOut: boolean;
}

/** Reads the status that Kubernetes gave a Deployment. */
export function deploymentState(deployment: KubeObject, kind: PackageKind): DeploymentState {
  const what = `${kind.toLowerCase()} package deployment`;
  const { status, message } = conditionOf(conditionsOf(deployment), "Available");
  const isSeen = numberAt(deployment, ["status", "observedGeneration"]) >= (deployment.metadata.generation ?? 0);
  if (status !== "True") {
    const isTold = conditionsOf(deployment).some(({ type }) => type === "Available");
    const problem = isTold
      ? `${what} is unavailable with message: ${message ?? ""}`
      : `${what} has no condition of type "Available" yet`;
    return { problem, isBroken: isTold, isServing: false, isRolledOut: false };
  }
  const wanted = numberAt(deployment, ["spec", "replicas"]);
  const [updated, all] = [
    numberAt(deployment, ["status", "updatedReplicas"]),
    numberAt(deployment, ["status", "replicas"]),
  ];
  return {
    problem: undefined,
    isBroken: false,
    isServing: isSeen,
    isRolledOut: isSeen && updated >= wanted && all <= updated,
  };
}

function numberAt(object: KubeObject, path: readonly string[]): number {
  const value = memberAt(object, path);
  return typeof value === "number" ? value : 0;
}
