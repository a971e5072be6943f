// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, type KubeObject, numberAt, textMapAt } from "@purlin/kube-objects/object";
import { setCondition, withoutCondition, withoutEmpty } from "../owned/status-fields.ts";
import { replicasOf } from "../pods/new-pod.ts";
import { isAvailable, isReady } from "../pods/pod-state.ts";

/** What a ReplicaSet is known to have. */
export interface ReplicaSetPods {
  readonly active: readonly KubeObject[];
  readonly terminating: readonly KubeObject[];
  /** Why Pods could not be created or deleted. */
  readonly failure?: string | undefined;
}

/** The status of a ReplicaSet. */
export function replicaSetStatus(replicaSet: KubeObject, pods: ReplicaSetPods, now: number): JsonObject {
  const { active, terminating } = pods;
  const minReadySeconds = numberAt(replicaSet, ["spec", "minReadySeconds"]);
  const labels = Object.entries(textMapAt(replicaSet, ["spec", "template", "metadata", "labels"]) ?? {});
  const isFullyLabeled = ({ metadata }: KubeObject): boolean =>
    labels.every(([key, value]) => metadata.labels?.[key] === value);
  return {
    replicas: active.length,
    ...withoutEmpty({
      fullyLabeledReplicas: active.filter(isFullyLabeled).length,
      readyReplicas: active.filter(isReady).length,
      availableReplicas: active.filter((pod) => isAvailable(pod, minReadySeconds, now)).length,
      observedGeneration: replicaSet.metadata.generation,
      conditions: conditionsAfter(replicaSet, pods, now),
    }),
    terminatingReplicas: terminating.length,
  };
}

function conditionsAfter(replicaSet: KubeObject, { active, failure }: ReplicaSetPods, now: number): JsonObject[] {
  const before = conditionsOf(replicaSet);
  const type = "ReplicaFailure";
  if (failure === undefined) return [...withoutCondition(before, type)];
  const reason = active.length < replicasOf(replicaSet) ? "FailedCreate" : "FailedDelete";
  if (before.some((condition) => condition.type === type)) return [...before];
  return [...setCondition(before, { type, status: "True", reason, message: failure }, { now })];
}
