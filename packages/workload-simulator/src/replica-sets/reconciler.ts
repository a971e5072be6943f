// SPDX-License-Identifier: Apache-2.0
import type { ReconcileContext, ReconcileResult, WatchingController } from "@purlin/kube-controller";
import { ignoreNotFound, textOf } from "@purlin/kube-objects/errors";
import { isDeleted, type KubeObject, keyOf, numberAt } from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { claimChildren } from "../owned/claim-children.ts";

import { deletionOrder } from "../pods/deletion-order.ts";
import { createPod, inParts, PartialError, podFromTemplate, replicasOf, templateOf } from "../pods/new-pod.ts";
import { isActive, isTerminating, nextAvailableMs } from "../pods/pod-state.ts";
import { requeueAfter, simulatedController } from "../simulated-controller.ts";
import { type SimulatorDeps, storeStatus } from "../simulator-deps.ts";
import { type ReplicaSetPods, replicaSetStatus } from "./replica-set-status.ts";

// So many Pods are created or deleted in one reconcile.
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

async function reconcile(deps: SimulatorDeps, context: ReconcileContext): Promise<ReconcileResult> {
  const replicaSet = context.stored.object;
  const pods = await claimChildren(deps, replicaSet, kinds.pod);
  const active = pods.filter(isActive);
  const terminating = pods.filter(isTerminating);
  const after = isDeleted(replicaSet) ? { active } : await manage(deps, context, active);
  const now = deps.clock.now();
  await storeStatus(deps, replicaSet, replicaSetStatus(replicaSet, { terminating, ...after }, now));
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
