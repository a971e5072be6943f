// SPDX-License-Identifier: Apache-2.0

import { isNoMatch } from "@purlin/kube-client";
import type { ReconcileContext, ReconcileResult, WatchingController } from "@purlin/kube-controller";
import { ignoreNotFound, isAlreadyExists, textOf } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  isDeleted,
  type KubeObject,
  keyOf,
  memberAt,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  textAt,
  textMapAt,
} from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { claimChildren, withoutEmpty } from "../owned/claim-children.ts";
import {
  createPod,
  isAvailable,
  isFinished,
  isReady,
  nextAvailableMs,
  phaseOf,
  podFromTemplate,
  replicasOf,
  scaledCount,
  templateOf,
} from "../pods/pod.ts";
import { dropRevisions, type Revisions, revisionLabel, syncRevisions, templateIn } from "../revisions/revisions.ts";
import { requeueAfter, simulatedController } from "../simulated-controller.ts";
import { fieldManager, type SimulatorDeps, simulatedMark, storeStatus } from "../simulator-deps.ts";

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

/** One Pod of a StatefulSet. */
interface Member {
  readonly deps: SimulatorDeps;
  readonly context: ReconcileContext;
  readonly set: KubeObject;
  readonly ordinal: number;
  readonly revision: string;
  readonly template: JsonObject;
}

/** The ordinal in the name of a Pod; -1 when it has none. */
function ordinalOf({ metadata }: KubeObject): number {
  const [, ordinal] = /-(\d+)$/.exec(metadata.name ?? "") ?? [];
  return ordinal === undefined ? -1 : Number(ordinal);
}

/** Creates a Pod after its claims. */
async function createMember(member: Member): Promise<void> {
  const { deps, context, set, ordinal, revision, template } = member;
  const name = `${set.metadata.name ?? ""}-${ordinal}`;
  const labels = {
    [revisionLabel]: revision,
    "statefulset.kubernetes.io/pod-name": name,
    "apps.kubernetes.io/pod-index": String(ordinal),
  };
  const spec = podSpec(member, name);
  try {
    for (const claim of objectsAt(set, ["spec", "volumeClaimTemplates"])) await createClaim(member, claim, name);
    await createPod(deps, podFromTemplate(set, template, { name: { name }, labels, spec }));
    context.emit({
      reason: "SuccessfulCreate",
      message: `create Pod ${name} in StatefulSet ${set.metadata.name ?? ""} successful`,
    });
  } catch (error) {
    if (isAlreadyExists(error)) return;
    const message = `create Pod ${name} in StatefulSet ${set.metadata.name ?? ""} failed error: ${textOf(error)}`;
    context.emit({ type: "Warning", reason: "FailedCreate", message });
    throw error;
  }
}

function podSpec({ set, template }: Member, name: string): JsonObject {
  const spec = objectAt(template, ["spec"]);
  const claims = objectsAt(set, ["spec", "volumeClaimTemplates"]).map((claim) => stringAt(claim, ["metadata", "name"]));
  const volumes = claims.map((claim) => ({ name: claim, persistentVolumeClaim: { claimName: `${claim}-${name}` } }));
  const others = objectsAt(spec, ["volumes"]).filter((volume) => !claims.includes(stringAt(volume, ["name"])));
  const subdomain = textAt(set, ["spec", "serviceName"]);
  return {
    ...spec,
    hostname: name,
    ...(subdomain !== undefined && { subdomain }),
    ...(volumes.length + others.length > 0 && { volumes: [...volumes, ...others] }),
  };
}

async function createClaim({ deps, context, set }: Member, template: JsonObject, pod: string): Promise<void> {
  const name = `${stringAt(template, ["metadata", "name"])}-${pod}`;
  const { namespace = "" } = set.metadata;
  try {
    if ((await deps.client.get(kinds.claim, { namespace, name })) !== undefined) return;
    const labels = {
      ...textMapAt(template, ["metadata", "labels"]),
      ...textMapAt(set, ["spec", "selector", "matchLabels"]),
    };
    const annotations = { ...textMapAt(template, ["metadata", "annotations"]), ...simulatedMark };
    const claim = {
      ...kinds.claim,
      metadata: { name, namespace, labels, annotations },
      spec: objectAt(template, ["spec"]),
    };
    await deps.client.create(claim, { fieldManager });
    context.emit({
      reason: "SuccessfulCreate",
      message: `create Claim ${name} Pod ${pod} in StatefulSet ${set.metadata.name ?? ""} success`,
    });
  } catch (error) {
    if (!isAlreadyExists(error) && !isNoMatch(error)) throw error;
  }
}

/** Deletes a Pod; it is created again if it is still wanted. */
async function deleteMember({ deps, context, set }: Member, pod: KubeObject): Promise<void> {
  const { uid = "", name = "" } = pod.metadata;
  await ignoreNotFound(deps.client.delete({ ...kinds.pod, ...keyOf(pod) }, { preconditions: { uid } }));
  context.emit({
    reason: "SuccessfulDelete",
    message: `delete Pod ${name} in StatefulSet ${set.metadata.name ?? ""} successful`,
  });
}
