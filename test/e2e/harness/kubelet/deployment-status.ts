// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";

/** How the pods of a Deployment are. */
export interface PodCounts {
  readonly wanted: number;
  readonly all: number;
  /** Of the template as it is now. */
  readonly updated: number;
  readonly ready: number;
  readonly updatedReady: number;
}

/** The status that Kubernetes' own controller gives a Deployment with such pods. */
export function deploymentStatus(generation: number, counts: PodCounts): JsonObject {
  const { wanted, all, updated, ready, updatedReady } = counts;
  const isAvailable = ready >= wanted;
  const isDone = updatedReady >= wanted && all === updated;
  const available = isAvailable
    ? { status: "True", reason: "MinimumReplicasAvailable", message: "Deployment has minimum availability." }
    : {
        status: "False",
        reason: "MinimumReplicasUnavailable",
        message: "Deployment does not have minimum availability.",
      };
  const progressing = isDone ? "NewReplicaSetAvailable" : "ReplicaSetUpdated";
  return {
    observedGeneration: generation,
    replicas: all,
    updatedReplicas: updated,
    readyReplicas: ready,
    availableReplicas: ready,
    unavailableReplicas: Math.max(0, wanted - ready),
    conditions: [
      { type: "Available", ...available },
      { type: "Progressing", status: "True", reason: progressing },
    ],
  };
}
