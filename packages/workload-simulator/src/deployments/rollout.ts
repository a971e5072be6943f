// SPDX-License-Identifier: Apache-2.0
import type { ReconcileContext } from "@purlin/kube-controller";
import { annotationOf, type KubeObject, memberAt, numberAt, objectAt, withMember } from "@purlin/kube-objects/object";
import { replicasOf, scaledCount } from "../pods/new-pod.ts";
import { createdAt } from "../pods/pod-state.ts";
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
