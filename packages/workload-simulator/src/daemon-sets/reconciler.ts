// SPDX-License-Identifier: Apache-2.0
import type { ReconcileContext, ReconcileResult, WatchingController } from "@purlin/kube-controller";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  isDeleted,
  type KubeObject,
  keyOf,
  memberAt,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
} from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { nodeName } from "../node.ts";
import { claimChildren, withoutEmpty } from "../owned/claim-children.ts";
import {
  createPod,
  isAvailable,
  isFinished,
  isReady,
  nextAvailableMs,
  podFromTemplate,
  templateOf,
} from "../pods/pod.ts";
import { dropRevisions, type Revisions, revisionLabel, syncRevisions } from "../revisions/revisions.ts";
import { requeueAfter, simulatedController } from "../simulated-controller.ts";
import { type SimulatorDeps, storeStatus } from "../simulator-deps.ts";

/** Keeps one Pod of each DaemonSet on the simulated node. */
export function daemonSetController(deps: SimulatorDeps): WatchingController {
  return simulatedController(deps, {
    name: "daemonset-controller",
    type: kinds.daemonSet,
    dependents: [kinds.pod],
    reconcile,
  });
}

async function reconcile(deps: SimulatorDeps, context: ReconcileContext): Promise<ReconcileResult> {
  const set = context.stored.object;
  const pods = await claimChildren(deps, set, kinds.pod);
  const revisions = await syncRevisions(deps, set);
  const isWanted = runsHere(deps, set);
  if (!isDeleted(set)) await manage(deps, context, { pods, revisions, isWanted });
  return report(deps, context, { revisions, isWanted });
}

/** Whether the node is one that the DaemonSet selects. */
function runsHere({ informers }: SimulatorDeps, set: KubeObject): boolean {
  const labels = informers.peek(kinds.node)?.get({ name: nodeName })?.metadata.labels ?? {};
  const wanted = Object.entries(objectAt(set, ["spec", "template", "spec", "nodeSelector"]));
  return wanted.every(([key, value]) => labels[key] === value);
}

interface Managing {
  readonly pods: readonly KubeObject[];
  readonly revisions: Revisions;
  readonly isWanted: boolean;
}

async function manage(
  deps: SimulatorDeps,
  context: ReconcileContext,
  { pods, revisions, isWanted }: Managing,
): Promise<void> {
  const set = context.stored.object;
  const hash = revisions.update.metadata.labels?.[revisionLabel] ?? "";
  const isOld = (pod: KubeObject): boolean => pod.metadata.labels?.[revisionLabel] !== hash;
  const isReplaced = textAt(set, ["spec", "updateStrategy", "type"]) !== "OnDelete";
  const alive = pods.filter((pod) => !isDeleted(pod));
  const doomed = alive.filter((pod) => !isWanted || isFinished(pod) || (isReplaced && isOld(pod)));
  for (const pod of doomed) {
    const { uid = "", name = "" } = pod.metadata;
    const reason = isFinished(pod) ? "FailedDaemonPod" : "SuccessfulDelete";
    await ignoreNotFound(deps.client.delete({ ...kinds.pod, ...keyOf(pod) }, { preconditions: { uid } }));
    const message = isFinished(pod)
      ? `Found failed daemon pod ${pod.metadata.namespace ?? ""}/${name} on node ${nodeName}, will try to kill it`
      : `Deleted pod: ${name}`;
    context.emit({ type: isFinished(pod) ? "Warning" : "Normal", reason, message });
  }
  // A Pod that is being deleted is replaced when it is gone.
  if (!isWanted || pods.some((pod) => !doomed.includes(pod)) || doomed.length > 0) return;
  await create(deps, context, hash);
}

async function create(deps: SimulatorDeps, context: ReconcileContext, hash: string): Promise<void> {
  const set = context.stored.object;
  const template = templateOf(set);
  const labels = { [revisionLabel]: hash, "pod-template-generation": String(set.metadata.generation ?? 1) };
  const name = { generateName: `${set.metadata.name ?? ""}-` };
  const created = await createPod(deps, podFromTemplate(set, template, { name, labels, spec: daemonSpec(template) }));
  context.emit({ reason: "SuccessfulCreate", message: `Created pod: ${created.metadata.name ?? ""}` });
}

const tolerated: readonly (readonly [string, string])[] = [
  ["node.kubernetes.io/not-ready", "NoExecute"],
  ["node.kubernetes.io/unreachable", "NoExecute"],
  ["node.kubernetes.io/disk-pressure", "NoSchedule"],
  ["node.kubernetes.io/memory-pressure", "NoSchedule"],
  ["node.kubernetes.io/pid-pressure", "NoSchedule"],
  ["node.kubernetes.io/unschedulable", "NoSchedule"],
];

const onHostNetwork = ["node.kubernetes.io/network-unavailable", "NoSchedule"] as const;

/** The spec of a daemon Pod: it is bound to its node, and stays when the node is in trouble. */
function daemonSpec(template: JsonObject): JsonObject {
  const spec = objectAt(template, ["spec"]);
  const own = memberAt(spec, ["hostNetwork"]) === true ? [...tolerated, onHostNetwork] : tolerated;
  const tolerations = own.map(([key, effect]) => ({ key, operator: "Exists", effect }));
  const matchFields = [{ key: "metadata.name", operator: "In", values: [nodeName] }];
  const required = { nodeSelectorTerms: [{ matchFields }] };
  const affinity = {
    ...objectAt(spec, ["affinity"]),
    nodeAffinity: {
      ...objectAt(spec, ["affinity", "nodeAffinity"]),
      requiredDuringSchedulingIgnoredDuringExecution: required,
    },
  };
  return { ...spec, affinity, tolerations: [...objectsAt(spec, ["tolerations"]), ...tolerations] };
}

async function report(
  deps: SimulatorDeps,
  { stored: { object: set } }: ReconcileContext,
  { revisions, isWanted }: Omit<Managing, "pods">,
): Promise<ReconcileResult> {
  const { namespace, uid = "" } = set.metadata;
  const pods = (await deps.client.list(kinds.pod, { namespace, controller: uid })).filter((pod) => !isDeleted(pod));
  const now = deps.clock.now();
  const minReadySeconds = numberAt(set, ["spec", "minReadySeconds"]);
  const hash = revisions.update.metadata.labels?.[revisionLabel];
  const desired = isWanted ? 1 : 0;
  const scheduled = isWanted ? pods.slice(0, 1) : [];
  const available = scheduled.filter((pod) => isAvailable(pod, minReadySeconds, now)).length;
  const status = {
    currentNumberScheduled: scheduled.length,
    numberMisscheduled: pods.length - scheduled.length,
    desiredNumberScheduled: desired,
    numberReady: scheduled.filter(isReady).length,
    ...withoutEmpty({
      observedGeneration: set.metadata.generation,
      updatedNumberScheduled: scheduled.filter((pod) => pod.metadata.labels?.[revisionLabel] === hash).length,
      numberAvailable: available,
      numberUnavailable: desired - available,
    }),
  };
  await storeStatus(deps, set, status);
  const used = new Set(pods.map((pod) => pod.metadata.labels?.[revisionLabel]));
  const live = revisions.all.filter(
    (one) => one === revisions.update || used.has(one.metadata.labels?.[revisionLabel]),
  );
  await dropRevisions(deps, set, {
    all: revisions.all,
    live: new Set(live.map(({ metadata }) => metadata.name ?? "")),
  });
  const delay = nextAvailableMs(scheduled, minReadySeconds, now);
  return requeueAfter(delay);
}
