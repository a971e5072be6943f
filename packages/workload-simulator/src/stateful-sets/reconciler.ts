// SPDX-License-Identifier: Apache-2.0
import type { ReconcileContext, ReconcileResult, WatchingController } from "@purlin/kube-controller";
import { isDeleted, type KubeObject, memberAt, numberAt, textAt } from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { claimChildren } from "../owned/claim-children.ts";
import { scaledCount } from "../owned/int-or-percent.ts";
import { withoutEmpty } from "../owned/status-fields.ts";

import { replicasOf, templateOf } from "../pods/new-pod.ts";
import { isAvailable, isFinished, isReady, nextAvailableMs, phaseOf } from "../pods/pod-state.ts";
import { dropRevisions, type Revisions, revisionLabel, syncRevisions, templateIn } from "../revisions/revisions.ts";
import { requeueAfter, simulatedController } from "../simulated-controller.ts";
import { type SimulatorDeps, storeStatus } from "../simulator-deps.ts";
import { createMember, deleteMember, type Member, ordinalOf } from "./members.ts";

/** Keeps the Pods of StatefulSets, in their order. */
export function statefulSetController(deps: SimulatorDeps): WatchingController {
  return simulatedController(deps, {
    name: "statefulset-controller",
    type: kinds.statefulSet,
    dependents: [kinds.pod],
    reconcile,
  });
}

/** One reconcile of a StatefulSet. */
interface Ordering {
  readonly deps: SimulatorDeps;
  readonly context: ReconcileContext;
  readonly set: KubeObject;
  readonly revisions: Revisions;
  /** The name of the revision that Pods had before the update. */
  readonly current: string;
  readonly pods: ReadonlyMap<number, KubeObject>;
}

async function reconcile(deps: SimulatorDeps, context: ReconcileContext): Promise<ReconcileResult> {
  const set = context.stored.object;
  const children = await claimChildren(deps, set, kinds.pod);
  const revisions = await syncRevisions(deps, set);
  const recorded = textAt(set, ["status", "currentRevision"]);
  const isKnown = revisions.all.some(({ metadata }) => metadata.name === recorded);
  const update = revisions.update.metadata.name ?? "";
  const current = isKnown && recorded !== undefined ? recorded : update;
  const pods = new Map(children.map((pod) => [ordinalOf(pod), pod]));
  const ordering: Ordering = { deps, context, set, revisions, current, pods };
  if (!isDeleted(set)) await order(ordering);
  return report(ordering);
}

/** Creates, deletes and replaces Pods: one at a time, unless the Pods are managed in parallel. */
async function order(ordering: Ordering): Promise<void> {
  const { set, pods } = ordering;
  const isOrdered = textAt(set, ["spec", "podManagementPolicy"]) !== "Parallel";
  const start = numberAt(set, ["spec", "ordinals", "start"]);
  const end = start + replicasOf(set);
  for (let ordinal = start; ordinal < end; ordinal++) {
    const pod = pods.get(ordinal);
    const isServing = await settle(ordering, ordinal, pod);
    if (isOrdered && !isServing) return;
  }
  const surplus = [...pods.keys()].filter((ordinal) => ordinal < start || ordinal >= end).sort((a, b) => b - a);
  for (const ordinal of surplus) {
    const pod = pods.get(ordinal);
    if (pod !== undefined && !isDeleted(pod)) await deleteMember(memberOf(ordering, ordinal), pod);
    if (isOrdered) return;
  }
  if (surplus.length === 0) await rollOut(ordering);
}

/** Makes sure that one Pod exists; says whether the next one may follow. */
async function settle(ordering: Ordering, ordinal: number, pod: KubeObject | undefined): Promise<boolean> {
  const { set, deps } = ordering;
  if (pod === undefined) {
    await createMember(memberOf(ordering, ordinal));
    return false;
  }
  if (isDeleted(pod)) return false;
  if (isFinished(pod)) {
    // It is created again when it is gone.
    await deleteMember(memberOf(ordering, ordinal), pod);
    return false;
  }
  const minReadySeconds = numberAt(set, ["spec", "minReadySeconds"]);
  return phaseOf(pod) === "Running" && isAvailable(pod, minReadySeconds, deps.clock.now());
}

function memberOf({ deps, context, set, revisions, current }: Ordering, ordinal: number): Member {
  const update = revisions.update.metadata.name ?? "";
  const start = numberAt(set, ["spec", "ordinals", "start"]);
  const revision = ordinal - start < partitionOf(set) && current !== update ? current : update;
  const recorded = revisions.all.find(({ metadata }) => metadata.name === revision);
  const isUpdate = revision === update || recorded === undefined;
  return { deps, context, set, ordinal, revision, template: isUpdate ? templateOf(set) : templateIn(recorded) };
}

function partitionOf(set: KubeObject): number {
  return numberAt(set, ["spec", "updateStrategy", "rollingUpdate", "partition"]);
}

/** Deletes Pods of an old revision, from the last one down; each is waited for. */
async function rollOut(ordering: Ordering): Promise<void> {
  const { deps, set, pods, revisions } = ordering;
  if (textAt(set, ["spec", "updateStrategy", "type"]) === "OnDelete") return;
  const first = numberAt(set, ["spec", "ordinals", "start"]) + partitionOf(set);
  const maxUnavailable = memberAt(set, ["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"]);
  let budget = maxUnavailable === undefined ? 1 : Math.max(1, scaledCount(maxUnavailable, replicasOf(set), "up"));
  const minReadySeconds = numberAt(set, ["spec", "minReadySeconds"]);
  for (const ordinal of [...pods.keys()].sort((a, b) => b - a)) {
    const pod = pods.get(ordinal);
    if (pod === undefined || ordinal < first || budget <= 0) return;
    if (pod.metadata.labels?.[revisionLabel] !== revisions.update.metadata.name) {
      await deleteMember(memberOf(ordering, ordinal), pod);
      budget--;
    } else if (!isAvailable(pod, minReadySeconds, deps.clock.now())) budget--;
  }
}

async function report({ deps, set, revisions, current, context }: Ordering): Promise<ReconcileResult> {
  const { namespace, uid = "" } = set.metadata;
  const pods = await deps.client.list(kinds.pod, { namespace, controller: uid });
  const now = deps.clock.now();
  const update = revisions.update.metadata.name ?? "";
  const minReadySeconds = numberAt(set, ["spec", "minReadySeconds"]);
  const alive = pods.filter((pod) => !isDeleted(pod));
  const isOf = (revision: string) => (pod: KubeObject) => pod.metadata.labels?.[revisionLabel] === revision;
  const updated = alive.filter(isOf(update)).length;
  const ready = pods.filter((pod) => phaseOf(pod) === "Running" && isReady(pod));
  const isRolling = textAt(set, ["spec", "updateStrategy", "type"]) !== "OnDelete";
  const isDone = isRolling && [updated, pods.length, ready.length].every((count) => count === replicasOf(set));
  const shown = isDone ? update : current;
  const status = {
    ...withoutEmpty({ observedGeneration: set.metadata.generation }),
    replicas: pods.length,
    ...withoutEmpty({
      readyReplicas: ready.length,
      currentReplicas: alive.filter(isOf(shown)).length,
      updatedReplicas: updated,
      currentRevision: shown,
      updateRevision: update,
    }),
    collisionCount: numberAt(set, ["status", "collisionCount"]),
    availableReplicas: ready.filter((pod) => isAvailable(pod, minReadySeconds, now)).length,
  };
  await storeStatus(deps, context.stored.object, status);
  const live = new Set([shown, update, ...pods.map((pod) => pod.metadata.labels?.[revisionLabel] ?? "")]);
  await dropRevisions(deps, set, { all: revisions.all, live });
  const delay = nextAvailableMs(ready, minReadySeconds, now);
  return requeueAfter(delay);
}
