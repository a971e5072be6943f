// SPDX-License-Identifier: Apache-2.0
import {
  type Condition,
  conditionsOf,
  isDeleted,
  type KubeObject,
  numberAt,
  objectsAt,
  stringAt,
} from "@purlin/kube-objects/object";

/** The phase of a Pod. */
export function phaseOf(pod: KubeObject): string {
  return stringAt(pod, ["status", "phase"]) || "Pending";
}

/** Whether all containers of a Pod ended for good. */
export function isFinished(pod: KubeObject): boolean {
  const phase = phaseOf(pod);
  return phase === "Succeeded" || phase === "Failed";
}

/** Whether a Pod counts as a replica: it has not ended and is not being deleted. */
export function isActive(pod: KubeObject): boolean {
  return !isFinished(pod) && !isDeleted(pod);
}

/** Whether a Pod is being deleted and has not ended yet. */
export function isTerminating(pod: KubeObject): boolean {
  return isDeleted(pod) && !isFinished(pod);
}

function readyCondition(pod: KubeObject): Condition | undefined {
  return conditionsOf(pod).find(({ type, status }) => type === "Ready" && status === "True");
}

/** Whether a Pod serves. */
export function isReady(pod: KubeObject): boolean {
  return readyCondition(pod) !== undefined;
}

/** Since when a Pod serves, in milliseconds; undefined when it does not. */
export function readySince(pod: KubeObject): number | undefined {
  const condition = readyCondition(pod);
  return condition === undefined ? undefined : Date.parse(condition.lastTransitionTime);
}

/** Whether a Pod has been ready for long enough. */
export function isAvailable(pod: KubeObject, minReadySeconds: number, now: number): boolean {
  const since = readySince(pod);
  return since !== undefined && (minReadySeconds === 0 || since + minReadySeconds * 1000 <= now);
}

/** How long until the next Pod that is ready becomes available; undefined when none is about to. */
export function nextAvailableMs(pods: readonly KubeObject[], minReadySeconds: number, now: number): number | undefined {
  if (minReadySeconds === 0) return undefined;
  const delays = pods
    .map((pod) => (readySince(pod) ?? Number.NEGATIVE_INFINITY) + minReadySeconds * 1000 - now)
    .filter((delay) => delay > 0);
  return delays.length === 0 ? undefined : Math.min(...delays);
}

/** How often the containers of a Pod were restarted. */
export function restartsOf(pod: KubeObject): number {
  return objectsAt(pod, ["status", "containerStatuses"]).reduce(
    (most, status) => Math.max(most, numberAt(status, ["restartCount"])),
    0,
  );
}

/** When an object was created, in milliseconds. */
export function createdAt({ metadata }: KubeObject): number {
  return metadata.creationTimestamp ? Date.parse(metadata.creationTimestamp) : 0;
}
