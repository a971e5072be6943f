// SPDX-License-Identifier: Apache-2.0
import type { ReconcileContext, ReconcileResult, WatchingController } from "@purlin/kube-controller";
import { ignoreNotFound, textOf } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  annotationOf,
  conditionsOf,
  isDeleted,
  type KubeObject,
  keyOf,
  numberAt,
  textAt,
  textMapAt,
} from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { claimChildren, setCondition, withoutCondition, withoutEmpty } from "../owned/claim-children.ts";
import { filterInTurns } from "../owned/selection.ts";
import {
  createdAt,
  createPod,
  inParts,
  isActive,
  isAvailable,
  isReady,
  isTerminating,
  nextAvailableMs,
  PartialError,
  phaseOf,
  podFromTemplate,
  readySince,
  replicasOf,
  restartsOf,
  templateOf,
} from "../pods/pod.ts";
import { requeueAfter, simulatedController } from "../simulated-controller.ts";
import { type SimulatorDeps, storeStatus } from "../simulator-deps.ts";

// A ReplicationController is a ReplicaSet of an earlier form: one controller keeps the Pods of both.

/** What a ReplicaSet is known to have. */
interface ReplicaSetPods {
  readonly active: readonly KubeObject[];
  readonly terminating: readonly KubeObject[];
  /** How many of the active ones have all labels of the template. */
  readonly labeled: number;
  /** Why Pods could not be created or deleted. */
  readonly failure?: string | undefined;
}

const phaseRank: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

// At most this many Pods are created or deleted in one reconcile.
const burst = 500;

/** Keeps the Pods of ReplicaSets. */
export function replicaSetController(deps: SimulatorDeps): WatchingController {
  return simulatedController(deps, {
    name: "replicaset-controller",
    type: kinds.replicaSet,
    dependents: [kinds.pod],
    reconcile,
  });
}

/** Keeps the Pods of ReplicationControllers. */
export function replicationController(deps: SimulatorDeps): WatchingController {
  return simulatedController(deps, {
    name: "replication-controller",
    type: kinds.replicationController,
    dependents: [kinds.pod],
    reconcile,
  });
}

async function reconcile(deps: SimulatorDeps, context: ReconcileContext): Promise<ReconcileResult> {
  const replicaSet = context.stored.object;
  const pods = await claimChildren(deps, replicaSet, kinds.pod);
  const active = pods.filter(isActive);
  const terminating = pods.filter(isTerminating);
  const after = isDeleted(replicaSet) ? { active } : await manage(deps, context, active);
  const labeled = (await filterInTurns(after.active, fullyLabeled(replicaSet))).length;
  const now = deps.clock.now();
  await storeStatus(deps, replicaSet, replicaSetStatus(replicaSet, { terminating, labeled, ...after }, now));
  if (after.failure !== undefined) return { requeue: true };
  if (after.active.length !== replicasOf(replicaSet) && !isDeleted(replicaSet)) return { requeueAfterMs: 1 };
  const delay = nextAvailableMs(after.active, numberAt(replicaSet, ["spec", "minReadySeconds"]), now);
  return requeueAfter(delay);
}

type Managed = Pick<ReplicaSetPods, "active" | "failure">;

/** Creates or deletes Pods until there are as many as wanted. */
async function manage(deps: SimulatorDeps, context: ReconcileContext, active: readonly KubeObject[]): Promise<Managed> {
  const missing = replicasOf(context.stored.object) - active.length;
  if (missing > 0) return grow(deps, { context, active, count: Math.min(missing, burst) });
  if (missing < 0) return shrink(deps, { context, active, count: Math.min(-missing, burst) });
  return { active };
}

interface Change {
  readonly context: ReconcileContext;
  readonly active: readonly KubeObject[];
  readonly count: number;
}

async function grow(deps: SimulatorDeps, { context, active, count }: Change): Promise<Managed> {
  const replicaSet = context.stored.object;
  const name = { generateName: `${replicaSet.metadata.name ?? ""}-` };
  const pod = podFromTemplate(replicaSet, templateOf(replicaSet), { name });
  const create = async (): Promise<KubeObject> => {
    try {
      const created = await createPod(deps, pod);
      context.emit({ reason: "SuccessfulCreate", message: `Created pod: ${created.metadata.name ?? ""}` });
      return created;
    } catch (error) {
      context.emit({ type: "Warning", reason: "FailedCreate", message: `Error creating: ${textOf(error)}` });
      throw error;
    }
  };
  try {
    return { active: [...active, ...(await inParts(Array.from({ length: count }), create))] };
  } catch (error) {
    const created = error instanceof PartialError ? (error.done as readonly KubeObject[]) : [];
    return { active: [...active, ...created], failure: textOf(error) };
  }
}

async function shrink(deps: SimulatorDeps, { context, active, count }: Change): Promise<Managed> {
  const doomed = deletionOrder(active, deps.clock.now()).slice(0, count);
  try {
    await inParts(doomed, async (pod) => {
      const { uid = "" } = pod.metadata;
      await ignoreNotFound(deps.client.delete({ ...kinds.pod, ...keyOf(pod) }, { preconditions: { uid } }));
      context.emit({ reason: "SuccessfulDelete", message: `Deleted pod: ${pod.metadata.name ?? ""}` });
    });
  } catch (error) {
    context.emit({ type: "Warning", reason: "FailedDelete", message: `Error deleting: ${textOf(error)}` });
    return { active, failure: textOf(error) };
  }
  const gone = new Set(doomed);
  return { active: active.filter((pod) => !gone.has(pod)) };
}

/** What decides which Pods go first when a ReplicaSet shrinks, most important first; the smaller value goes first. */
function ranks(pod: KubeObject, now: number): readonly number[] {
  const since = readySince(pod);
  return [
    textAt(pod, ["spec", "nodeName"]) === undefined ? 0 : 1,
    phaseRank[phaseOf(pod)] ?? 0,
    since === undefined ? 0 : 1,
    Number(annotationOf(pod, "controller.kubernetes.io/pod-deletion-cost") ?? 0) || 0,
    ageRank(since, now),
    -restartsOf(pod),
    ageRank(createdAt(pod), now),
  ];
}

/** Ages that differ by less than a factor of two count as equal, so that no age is preferred for ever. */
function ageRank(time: number | undefined, now: number): number {
  if (time === undefined) return 0;
  // The reference takes the logarithm of nanoseconds.
  return now > time ? Math.floor(Math.log2((now - time) * 1e6)) : -1;
}

/** The Pods in the order in which a ReplicaSet deletes them. */
function deletionOrder(pods: readonly KubeObject[], now: number): readonly KubeObject[] {
  const ranked = pods.map((pod) => ({ pod, ranks: ranks(pod, now) }));
  return ranked.toSorted((a, b) => compareRanks(a.ranks, b.ranks) || compareUids(a.pod, b.pod)).map(({ pod }) => pod);
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((rank, index) => rank !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

function compareUids(a: KubeObject, b: KubeObject): number {
  return (a.metadata.uid ?? "") < (b.metadata.uid ?? "") ? -1 : 1;
}

/** Whether a Pod has all labels of the template: there may be as many as a request can have. */
function fullyLabeled(replicaSet: KubeObject): (pod: KubeObject) => boolean {
  const labels = Object.entries(textMapAt(replicaSet, ["spec", "template", "metadata", "labels"]) ?? {});
  return ({ metadata }) => labels.every(([key, value]) => metadata.labels?.[key] === value);
}

/** The status of a ReplicaSet. */
function replicaSetStatus(replicaSet: KubeObject, pods: ReplicaSetPods, now: number): JsonObject {
  const { active, terminating, labeled } = pods;
  const minReadySeconds = numberAt(replicaSet, ["spec", "minReadySeconds"]);
  return {
    replicas: active.length,
    ...withoutEmpty({
      fullyLabeledReplicas: labeled,
      readyReplicas: active.filter(isReady).length,
      availableReplicas: active.filter((pod) => isAvailable(pod, minReadySeconds, now)).length,
      observedGeneration: replicaSet.metadata.generation,
      conditions: conditionsAfter(replicaSet, pods, now),
    }),
    // Not in the status of a ReplicationController.
    ...(replicaSet.kind === kinds.replicaSet.kind && { terminatingReplicas: terminating.length }),
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
