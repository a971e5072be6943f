// SPDX-License-Identifier: Apache-2.0

import type { CacheChange } from "@purlin/kube-client";
import {
  type ReconcileContext,
  type ReconcileResult,
  type WatchingController,
  writeStatus,
} from "@purlin/kube-controller";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import {
  annotationOf,
  conditionsOf,
  controllerOf,
  isDeleted,
  type KubeObject,
  keyOf,
  memberAt,
  numberAt,
  objectAt,
  withMember,
} from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { claimChildren, setCondition } from "../owned/claim-children.ts";
import { replicasOf } from "../pods/pod.ts";
import { requeueAfter, simulatedController } from "../simulated-controller.ts";
import { fieldManager, type SimulatorDeps, storeStatus } from "../simulator-deps.ts";
import { revisionOf, type Synced, splitSets, syncRevision } from "./current-set.ts";
import {
  activeOf,
  allOf,
  deploymentStatus,
  desiredAnnotation,
  isComplete,
  isRolling,
  nextJudgmentMs,
  progressDeadlineMs,
  type Rollout,
  rolloutStatus,
  scaleSet,
} from "./rollout.ts";
import { rollStep, scaleDeployment, stopOld } from "./strategies.ts";

/** Rolls out Deployments. */
export function deploymentController(deps: SimulatorDeps): WatchingController {
  return simulatedController(deps, {
    name: "deployment-controller",
    type: kinds.deployment,
    dependents: [kinds.replicaSet],
    watches: [{ type: "EndedPod", object: kinds.pod, keys: (change) => recreatedBy(deps, change) }],
    reconcile,
  });
}

/** A Deployment that recreates its Pods continues when the last of the old ones is gone. */
function recreatedBy({ informers }: SimulatorDeps, { type, object }: CacheChange) {
  const { namespace } = object.metadata;
  const owner = type === "deleted" ? controllerOf(object) : undefined;
  if (owner?.kind !== kinds.replicaSet.kind) return [];
  const set = informers.peek(kinds.replicaSet)?.get({ namespace, name: owner.name });
  const controller = set && controllerOf(set);
  const deployment = controller && informers.peek(kinds.deployment)?.get({ namespace, name: controller.name });
  return deployment === undefined || isRolling(deployment) ? [] : [keyOf(deployment)];
}

async function reconcile(deps: SimulatorDeps, context: ReconcileContext): Promise<ReconcileResult> {
  const deployment = context.stored.object;
  if (Object.keys(objectAt(deployment, ["spec", "selector"])).length === 0) return refuseAll(deps, context);
  const sets = await claimChildren(deps, deployment, kinds.replicaSet);
  const split = splitSets(deployment, sets);
  if (isDeleted(deployment)) {
    await storeStatus(deps, deployment, deploymentStatus({ deployment, ...split }, deps.clock.now()));
    return {};
  }
  const paused = await notePause(deps, deployment);
  const synced = await syncRevision(deps, context, { deployment: paused, ...split, creates: false });
  const rollout = (state: Synced): Rollout => ({ deps, context, ...state });
  if (isPausedSpec(paused) || isScaled(synced)) return followSize(rollout(synced));
  if (isRolling(paused)) {
    const created = await syncRevision(deps, context, { ...synced, creates: true });
    await rollStep(rollout(created));
    return report(rollout(created));
  }
  if (await stopOld(rollout(synced))) return report(rollout(synced));
  const created = await syncRevision(deps, context, { ...synced, creates: true });
  if (created.current !== undefined) await scaleSet(rollout(created), created.current, { size: replicasOf(paused) });
  return report(rollout(created));
}

async function refuseAll(
  deps: SimulatorDeps,
  { stored: { object }, emit }: ReconcileContext,
): Promise<ReconcileResult> {
  const message = "This deployment is selecting all pods. A non-empty selector is required.";
  emit({ type: "Warning", reason: "SelectingAll", message });
  const status = objectAt(object, ["status"]);
  await storeStatus(deps, object, { ...status, observedGeneration: object.metadata.generation ?? 0 });
  return {};
}

function isPausedSpec(deployment: KubeObject): boolean {
  return memberAt(deployment, ["spec", "paused"]) === true;
}

/** Notes in the condition Progressing that a Deployment was paused or resumed: the deadline does not run meanwhile. */
async function notePause(deps: SimulatorDeps, deployment: KubeObject): Promise<KubeObject> {
  const conditions = conditionsOf(deployment);
  const reason = conditions.find(({ type }) => type === "Progressing")?.reason;
  if (progressDeadlineMs(deployment) === undefined || reason === "ProgressDeadlineExceeded") return deployment;
  const isPaused = isPausedSpec(deployment);
  if (isPaused === (reason === "DeploymentPaused")) return deployment;
  const text = isPaused
    ? { reason: "DeploymentPaused", message: "Deployment is paused" }
    : { reason: "DeploymentResumed", message: "Deployment is resumed" };
  const claim = { type: "Progressing", status: "Unknown", ...text } as const;
  const next = setCondition(conditions, claim, { now: deps.clock.now(), hasUpdateTime: true });
  return writeStatus(deps.client, {
    before: deployment,
    after: withMember(deployment, ["status", "conditions"], next),
    fieldManager,
  });
}

/** Whether the size changed since the ReplicaSets were scaled. */
function isScaled({ deployment, ...sets }: Synced): boolean {
  const wanted = String(replicasOf(deployment));
  return activeOf(allOf(sets)).some((set) => (annotationOf(set, desiredAnnotation) ?? wanted) !== wanted);
}

async function followSize(rollout: Rollout): Promise<ReconcileResult> {
  const { deps, current, old } = rollout;
  await scaleDeployment(rollout);
  const deployment = await newest(rollout);
  if (isPausedSpec(deployment)) await dropHistory(deps, deployment, old);
  await storeStatus(deps, deployment, deploymentStatus({ deployment, current, old }, deps.clock.now()));
  return {};
}

async function newest({ deps, context: { key, stored } }: Rollout): Promise<KubeObject> {
  return (await deps.client.get(kinds.deployment, key)) ?? stored.object;
}

/**
 * Writes the status from the ReplicaSets as they were at the start of this reconcile, or when they were created in it: whether a rollout makes
 * progress is seen by comparing one reconcile with the next.
 */
async function report(rollout: Rollout): Promise<ReconcileResult> {
  const { deps, current, old } = rollout;
  const deployment = await newest(rollout);
  const now = deps.clock.now();
  const status = rolloutStatus({ deployment, current, old }, now);
  if (isComplete(deployment, status)) await dropHistory(deps, deployment, old);
  await storeStatus(deps, deployment, status);
  return requeueAfter(nextJudgmentMs(deployment, status, now));
}

/** Deletes the oldest ReplicaSets beyond the history that is kept. */
async function dropHistory(
  { client }: SimulatorDeps,
  deployment: KubeObject,
  old: readonly KubeObject[],
): Promise<void> {
  const limit = memberAt(deployment, ["spec", "revisionHistoryLimit"]);
  if (typeof limit !== "number" || limit >= 2 ** 31 - 1) return;
  const alive = old.filter((set) => !isDeleted(set));
  const surplus = alive.toSorted((a, b) => revisionOf(a) - revisionOf(b)).slice(0, Math.max(0, alive.length - limit));
  for (const set of surplus) {
    const isSeen = (set.metadata.generation ?? 0) <= numberAt(set, ["status", "observedGeneration"]);
    if (numberAt(set, ["status", "replicas"]) !== 0 || replicasOf(set) !== 0 || !isSeen) continue;
    await ignoreNotFound(client.delete({ ...kinds.replicaSet, ...keyOf(set) }));
  }
}
