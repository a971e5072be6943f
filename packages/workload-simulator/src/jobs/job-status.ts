// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  conditionsOf,
  conditionTime,
  hasFinalizer,
  isDeleted,
  type KubeObject,
  memberAt,
  numberAt,
  stringAt,
  textsAt,
} from "@purlin/kube-objects/object";
import { isActive, isReady, isTerminating, phaseOf } from "../pods/pod.ts";

/** Keeps a Pod until its end is counted. */
export const trackingFinalizer = "batch.kubernetes.io/job-tracking";
export const indexAnnotation = "batch.kubernetes.io/job-completion-index";

/** How many Pods of a Job ended, with those that are about to be counted. */
export interface JobCounts {
  readonly succeeded: number;
  readonly failed: number;
  /** The uids of Pods that ended and still have the finalizer. */
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  /** The indexes that are done, of an indexed Job. */
  readonly completedIndexes: readonly number[];
}

/** Whether a Job has ended. */
export function isEnded(job: KubeObject): boolean {
  return conditionsOf(job).some(({ type, status }) => (type === "Complete" || type === "Failed") && status === "True");
}

/** Whether each Pod of a Job has an index of its own. */
export function isIndexed(job: KubeObject): boolean {
  return stringAt(job, ["spec", "completionMode"]) === "Indexed";
}

/** Counts Pods that ended: each once, also if the process stops in between. */
export function countPods(job: KubeObject, pods: readonly KubeObject[]): JobCounts {
  const tracked = new Map(
    pods.filter((pod) => hasFinalizer(pod, trackingFinalizer)).map((pod) => [pod.metadata.uid ?? "", pod]),
  );
  const of = (kind: "succeeded" | "failed"): { readonly counted: number; readonly open: readonly string[] } => {
    const before = textsAt(job, ["status", "uncountedTerminatedPods", kind]);
    const counted = before.filter((uid) => !tracked.has(uid)).length;
    const fresh = [...tracked].filter(([, pod]) => hasEnded(pod, kind)).map(([uid]) => uid);
    return { counted, open: [...new Set([...before.filter((uid) => tracked.has(uid)), ...fresh])] };
  };
  const [succeeded, failed] = [of("succeeded"), of("failed")];
  return {
    succeeded: numberAt(job, ["status", "succeeded"]) + succeeded.counted,
    failed: numberAt(job, ["status", "failed"]) + failed.counted,
    uncounted: { succeeded: succeeded.open, failed: failed.open },
    completedIndexes: completedIndexes(job, pods),
  };
}

function hasEnded(pod: KubeObject, kind: "succeeded" | "failed"): boolean {
  const phase = phaseOf(pod);
  if (kind === "succeeded") return phase === "Succeeded";
  return phase === "Failed" || (isDeleted(pod) && phase !== "Succeeded");
}

/** All Pods that ended well or badly, whether counted or about to be. */
export function totals({ succeeded, failed, uncounted }: JobCounts): {
  readonly succeeded: number;
  readonly failed: number;
} {
  return { succeeded: succeeded + uncounted.succeeded.length, failed: failed + uncounted.failed.length };
}

function completedIndexes(job: KubeObject, pods: readonly KubeObject[]): readonly number[] {
  if (!isIndexed(job)) return [];
  const most = numberAt(job, ["spec", "completions"]);
  const done = pods.filter((pod) => phaseOf(pod) === "Succeeded").map(indexOf);
  const all = new Set([...readIndexes(stringAt(job, ["status", "completedIndexes"]), most), ...done]);
  return [...all].filter((index) => index >= 0 && index < most).sort((a, b) => a - b);
}

/** The index of a Pod; -1 when it has none. */
export function indexOf(pod: KubeObject): number {
  const text = pod.metadata.annotations?.[indexAnnotation];
  return text === undefined ? -1 : Number(text);
}

const maxIndexes = 1_000_000;

/** The indexes below an end that a text such as `0,2-4` names. Users can write it: no more than a million are read. */
export function readIndexes(text: string, end: number): readonly number[] {
  const indexes: number[] = [];
  for (const part of text.split(",")) {
    const [, low, high = low] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    const last = Math.min(Number(high), end - 1);
    for (let index = Number(low); index <= last && indexes.length < maxIndexes; index++) indexes.push(index);
  }
  return indexes;
}

/** Indexes as the status of a Job shows them: `0,2-4`. */
export function indexesText(indexes: readonly number[]): string {
  const runs: { low: number; high: number }[] = [];
  for (const index of indexes) {
    const last = runs.at(-1);
    if (last !== undefined && last.high + 1 === index) last.high = index;
    else runs.push({ low: index, high: index });
  }
  return runs
    .map(({ low, high }) => (low === high ? `${low}` : high === low + 1 ? `${low},${high}` : `${low}-${high}`))
    .join(",");
}

/** The counters in the status of a Job. */
export function countersOf(job: KubeObject, pods: readonly KubeObject[], counts: JobCounts): JsonObject {
  const active = pods.filter(isActive);
  const { succeeded, failed, uncounted } = counts;
  const startTime = memberAt(job, ["status", "startTime"]);
  const indexes = indexesText(counts.completedIndexes);
  return {
    ...(startTime !== undefined && { startTime }),
    ...(active.length > 0 && { active: active.length }),
    ...(succeeded > 0 && { succeeded }),
    ...(failed > 0 && { failed }),
    ...(indexes !== "" && { completedIndexes: indexes }),
    terminating: pods.filter(isTerminating).length,
    ready: active.filter(isReady).length,
    uncountedTerminatedPods: {
      ...(uncounted.succeeded.length > 0 && { succeeded: uncounted.succeeded }),
      ...(uncounted.failed.length > 0 && { failed: uncounted.failed }),
    },
  };
}

/** How a Job ends. */
export interface JobEnd {
  readonly type: "Complete" | "Failed";
  readonly reason: string;
  readonly message: string;
}

/** The condition with which a Job is about to end, and the one with which it has ended. */
export function endConditions(end: JobEnd, now: number): readonly JsonObject[] {
  const target = end.type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget";
  return [target, end.type].map((type) => jobCondition({ ...end, type, status: "True" }, now));
}

/** A condition of a Job. */
export function jobCondition(
  said: { readonly type: string; readonly status: string; readonly reason: string; readonly message: string },
  now: number,
): JsonObject {
  const { type, status, reason, message } = said;
  const time = conditionTime(now);
  return { type, status, lastProbeTime: time, lastTransitionTime: time, reason, message };
}
