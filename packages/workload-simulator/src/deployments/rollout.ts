// SPDX-License-Identifier: Apache-2.0
import type { ReconcileContext } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  annotationOf,
  conditionsOf,
  type KubeObject,
  memberAt,
  numberAt,
  objectAt,
  withMember,
} from "@purlin/kube-objects/object";
import {
  type ConditionClaim,
  setCondition,
  type UpdatedCondition,
  withoutCondition,
  withoutEmpty,
} from "../owned/claim-children.ts";
import { createdAt, replicasOf, scaledCount } from "../pods/pod.ts";
import { fieldManager, type SimulatorDeps } from "../simulator-deps.ts";

export const revisionAnnotation = "deployment.kubernetes.io/revision";
export const desiredAnnotation = "deployment.kubernetes.io/desired-replicas";
export const maxAnnotation = "deployment.kubernetes.io/max-replicas";

/** One reconcile of a Deployment. */
export interface Rollout {
  readonly deps: SimulatorDeps;
  readonly context: ReconcileContext;
  readonly deployment: KubeObject;
  /** The ReplicaSet of the current template, if it exists. */
  readonly current: KubeObject | undefined;
  /** The others, oldest first. */
  readonly old: readonly KubeObject[];
}

/** How many Pods a rollout may have beyond, or lack from, those that are wanted. */
export function bounds(deployment: KubeObject): { readonly surge: number; readonly unavailable: number } {
  if (!isRolling(deployment)) return { surge: 0, unavailable: 0 };
  const replicas = replicasOf(deployment);
  const update = objectAt(deployment, ["spec", "strategy", "rollingUpdate"]);
  const surge = scaledCount(memberAt(update, ["maxSurge"]), replicas, "up");
  const unavailable = scaledCount(memberAt(update, ["maxUnavailable"]), replicas, "down");
  const least = surge === 0 && unavailable === 0 ? 1 : unavailable;
  return { surge, unavailable: Math.min(least, replicas) };
}

/** Whether a Deployment replaces its Pods step by step. */
export function isRolling(deployment: KubeObject): boolean {
  return memberAt(deployment, ["spec", "strategy", "type"]) !== "Recreate";
}

/** All ReplicaSets, the current one last. */
export function allOf({ current, old }: Pick<Rollout, "current" | "old">): readonly KubeObject[] {
  return current === undefined ? old : [...old, current];
}

/** The ReplicaSets that want Pods. */
export function activeOf(sets: readonly KubeObject[]): readonly KubeObject[] {
  return sets.filter((set) => replicasOf(set) > 0);
}

/** How many Pods these ReplicaSets want together. */
export function wantedBy(sets: readonly KubeObject[]): number {
  return sets.reduce((sum, set) => sum + replicasOf(set), 0);
}

/** The sum of a counter in the status of these ReplicaSets. */
export function countIn(sets: readonly KubeObject[], counter: string): number {
  return sets.reduce((sum, set) => sum + numberAt(set, ["status", counter]), 0);
}

/** Oldest first; of one age, by name. */
export function byAge(a: KubeObject, b: KubeObject): number {
  return createdAt(a) - createdAt(b) || ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1);
}

/** How many Pods the current ReplicaSet may want now. */
export function nextSize(deployment: KubeObject, all: readonly KubeObject[], currentSize: number): number {
  const replicas = replicasOf(deployment);
  if (!isRolling(deployment)) return replicas;
  const room = replicas + bounds(deployment).surge - wantedBy(all);
  return room <= 0 ? currentSize : currentSize + Math.min(room, replicas - currentSize);
}

/** The annotations with which a ReplicaSet remembers the size of its Deployment. */
export function sizeAnnotations(deployment: KubeObject): Readonly<Record<string, string>> {
  const replicas = replicasOf(deployment);
  return { [desiredAnnotation]: String(replicas), [maxAnnotation]: String(replicas + bounds(deployment).surge) };
}

/** Changes the size of a ReplicaSet. `always` brings its annotations up to date even if the size stays. */
export async function scaleSet(
  rollout: Rollout,
  set: KubeObject,
  to: { readonly size: number; readonly always?: boolean },
): Promise<boolean> {
  const { deps, context, deployment } = rollout;
  const from = replicasOf(set);
  const annotations = sizeAnnotations(deployment);
  const isAnnotated = Object.entries(annotations).every(([name, value]) => annotationOf(set, name) === value);
  if (from === to.size && (to.always !== true || isAnnotated)) return false;
  const sized = withMember(set, ["spec", "replicas"], to.size);
  const metadata = { ...set.metadata, annotations: { ...set.metadata.annotations, ...annotations } };
  await deps.client.update({ ...sized, metadata }, { fieldManager });
  if (from === to.size) return false;
  const direction = from < to.size ? "up" : "down";
  const name = set.metadata.name ?? "";
  const message = `Scaled ${direction} replica set ${name} from ${from} to ${to.size}`;
  context.emit({ reason: "ScalingReplicaSet", message });
  return true;
}

/** What a status is computed from. */
type StatusSource = Pick<Rollout, "deployment" | "current" | "old">;

const noDeadline = 2 ** 31 - 1;

/** The time that a rollout may take without progress; undefined when it has no limit. */
export function progressDeadlineMs(deployment: KubeObject): number | undefined {
  const seconds = memberAt(deployment, ["spec", "progressDeadlineSeconds"]);
  return typeof seconds === "number" && seconds !== noDeadline ? seconds * 1000 : undefined;
}

/** The status of a Deployment without the judgment of its progress. */
export function deploymentStatus(source: StatusSource, now: number): JsonObject {
  const { deployment, current } = source;
  const all = allOf(source);
  const available = countIn(all, "availableReplicas");
  const isServing = available >= replicasOf(deployment) - bounds(deployment).unavailable;
  return {
    ...withoutEmpty({
      observedGeneration: deployment.metadata.generation,
      replicas: countIn(all, "replicas"),
      updatedReplicas: countIn(current === undefined ? [] : [current], "replicas"),
      readyReplicas: countIn(all, "readyReplicas"),
      availableReplicas: available,
      unavailableReplicas: Math.max(0, wantedBy(all) - available),
      conditions: [...setCondition(conditionsOf(deployment), availability(isServing), { now, hasUpdateTime: true })],
    }),
    ...collisions(deployment),
    terminatingReplicas: countIn(all, "terminatingReplicas"),
  };
}

function collisions(deployment: KubeObject): JsonObject {
  const collisionCount = memberAt(deployment, ["status", "collisionCount"]);
  return collisionCount === undefined ? {} : { collisionCount };
}

function availability(isServing: boolean): ConditionClaim {
  return isServing
    ? {
        type: "Available",
        status: "True",
        reason: "MinimumReplicasAvailable",
        message: "Deployment has minimum availability.",
      }
    : {
        type: "Available",
        status: "False",
        reason: "MinimumReplicasUnavailable",
        message: "Deployment does not have minimum availability.",
      };
}

const progressing = "Progressing";

/** The status of a Deployment during and after a rollout. */
export function rolloutStatus(source: StatusSource, now: number): JsonObject {
  const { deployment } = source;
  const status = deploymentStatus(source, now);
  const conditions = conditionsOf({ status }) as readonly UpdatedCondition[];
  const judged =
    progressDeadlineMs(deployment) === undefined
      ? withoutCondition(conditions, progressing)
      : judge(source, { status, conditions, now });
  return withConditionList(status, withFailures(source, judged, now));
}

function withConditionList(status: JsonObject, conditions: readonly UpdatedCondition[]): JsonObject {
  const { conditions: _before, ...rest } = status;
  return conditions.length === 0 ? rest : { ...rest, conditions };
}

interface Judging {
  readonly status: JsonObject;
  readonly conditions: readonly UpdatedCondition[];
  readonly now: number;
}

function judge(source: StatusSource, { status, conditions, now }: Judging): readonly UpdatedCondition[] {
  const { deployment, current } = source;
  const name = current?.metadata.name ?? deployment.metadata.name ?? "";
  const subject = `${current === undefined ? "Deployment" : "ReplicaSet"} ${JSON.stringify(name)}`;
  const before = conditions.find(({ type }) => type === progressing);
  const count = (field: string): number => numberAt(status, [field]);
  if (count("replicas") === count("updatedReplicas") && before?.reason === "NewReplicaSetAvailable") return conditions;
  const claim = (state: "True" | "False", reason: string, text: string): ConditionClaim => ({
    type: progressing,
    status: state,
    reason,
    message: `${subject} ${text}`,
  });
  const set = (list: readonly UpdatedCondition[], one: ConditionClaim): readonly UpdatedCondition[] =>
    setCondition(list, one, { now, hasUpdateTime: true });
  if (isComplete(deployment, status))
    return set(conditions, claim("True", "NewReplicaSetAvailable", "has successfully progressed."));
  if (hasProgressed(deployment, status)) {
    const next = set(withoutCondition(conditions, progressing), claim("True", "ReplicaSetUpdated", "is progressing."));
    // Each sign of progress starts the deadline again.
    return before?.status === "True"
      ? next.map((one) => (one.type === progressing ? { ...one, lastTransitionTime: before.lastTransitionTime } : one))
      : next;
  }
  if (isTimedOut(deployment, before, now))
    return set(conditions, claim("False", "ProgressDeadlineExceeded", "has timed out progressing."));
  return conditions;
}

/** Whether a rollout is done. */
export function isComplete(deployment: KubeObject, status: JsonObject): boolean {
  const wanted = replicasOf(deployment);
  const counters = ["updatedReplicas", "replicas", "availableReplicas"];
  const isSeen = numberAt(status, ["observedGeneration"]) >= (deployment.metadata.generation ?? 0);
  return isSeen && counters.every((counter) => numberAt(status, [counter]) === wanted);
}

function hasProgressed(deployment: KubeObject, status: JsonObject): boolean {
  const [before, after] = [
    (field: string) => numberAt(deployment, ["status", field]),
    (field: string) => numberAt(status, [field]),
  ];
  return (
    after("updatedReplicas") > before("updatedReplicas") ||
    after("replicas") - after("updatedReplicas") < before("replicas") - before("updatedReplicas") ||
    after("readyReplicas") > before("readyReplicas") ||
    after("availableReplicas") > before("availableReplicas")
  );
}

function isTimedOut(deployment: KubeObject, before: UpdatedCondition | undefined, now: number): boolean {
  const deadline = progressDeadlineMs(deployment);
  if (before === undefined || deadline === undefined || before.reason === "NewReplicaSetAvailable") return false;
  if (before.reason === "ProgressDeadlineExceeded") return true;
  return Date.parse(before.lastUpdateTime ?? before.lastTransitionTime) + deadline < now;
}

/** How long until a rollout without progress has to be judged again; undefined when it is done or has failed. */
export function nextJudgmentMs(deployment: KubeObject, status: JsonObject, now: number): number | undefined {
  const deadline = progressDeadlineMs(deployment);
  const before = (conditionsOf({ status }) as readonly UpdatedCondition[]).find(({ type }) => type === progressing);
  if (deadline === undefined || before === undefined || isComplete(deployment, status)) return undefined;
  if (before.reason === "ProgressDeadlineExceeded") return undefined;
  // Times of conditions are whole seconds.
  return Math.max(1, Date.parse(before.lastUpdateTime ?? before.lastTransitionTime) + deadline - now) + 1000;
}

/** Copies the failure of a ReplicaSet to create or delete Pods, the newest first. */
function withFailures(
  source: StatusSource,
  conditions: readonly UpdatedCondition[],
  now: number,
): readonly UpdatedCondition[] {
  const type = "ReplicaFailure";
  const failures = allOf(source).flatMap((set) => conditionsOf(set).filter((one) => one.type === type));
  const failure = failures.at(-1);
  if (failure === undefined) return withoutCondition(conditions, type);
  const { status, reason, message = "" } = failure;
  return setCondition(conditions, { type, status, reason, message }, { now, hasUpdateTime: true });
}
