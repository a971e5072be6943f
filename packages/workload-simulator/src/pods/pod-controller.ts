// SPDX-License-Identifier: Apache-2.0

import { inTurns } from "@purlin/base";
import type { InformerPool, KubeClient } from "@purlin/kube-client";
import {
  type ReconcileContext,
  type ReconcileResult,
  type WatchingController,
  writeStatus,
} from "@purlin/kube-controller";
import { findStatusError, ignoreNotFound, isConflict } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  conditionsOf,
  conditionTime,
  isDeleted,
  type KubeObject,
  keyOf,
  memberAt,
  objectAt,
  objectsAt,
  optionalObjectAt,
  stringAt,
  textAt,
  textMapAt,
} from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { nodeAddress, nodeName } from "../node.ts";
import { simulatedController } from "../simulated-controller.ts";
import { type SimulatorDeps, simulatedMark } from "../simulator-deps.ts";
import { isFinished } from "./pod.ts";
import { hasSchedulingGates, type PodPlan, planOf, planProblems } from "./pod-plan.ts";
import { nextPod } from "./pod-status.ts";

const addressIndex = "podIP";

const [first, last] = [10, 65_534];

/** Gives Pods addresses of 10.244.0.0/16 that no other Pod has. */
class PodAddresses {
  readonly #informers: InformerPool;
  // Given to Pods whose status the informer may not have seen yet.
  readonly #given = new Map<string, string>();
  #next = first;

  constructor(informers: InformerPool) {
    this.#informers = informers;
  }

  /** The address of a Pod: the one that it has, or a free one. */
  of(pod: KubeObject): string {
    const { uid = "" } = pod.metadata;
    const known = textAt(pod, ["status", "podIP"]);
    if (known !== undefined) {
      this.#given.delete(uid);
      return known;
    }
    const given = this.#given.get(uid) ?? this.#free();
    this.#given.set(uid, given);
    return given;
  }

  /** Forgets a Pod that was given an address and is gone. */
  release(uid: string): void {
    this.#given.delete(uid);
  }

  #free(): string {
    const informer = this.#informers.peek(kinds.pod);
    informer?.addIndex(addressIndex, (pod) => [textAt(pod, ["status", "podIP"]) ?? []].flat());
    for (let tries = last - first; tries > 0; tries--) {
      const address = this.#advance();
      if ((informer?.byIndex(addressIndex, address).length ?? 0) === 0) return address;
    }
    throw new Error("all addresses of 10.244.0.0/16 are in use by simulated Pods");
  }

  #advance(): string {
    const at = this.#next;
    this.#next = at >= last ? first : at + 1;
    return `10.244.${at >> 8}.${at & 255}`;
  }
}

/** What Pods are simulated with. */
export interface PodDeps extends SimulatorDeps {
  readonly kube: Pick<KubeClient, "raw" | "mapper">;
}

/** Schedules Pods to the simulated node and plays their containers: the scheduler and the kubelet. */
export function podController(deps: PodDeps): WatchingController {
  const addresses = new PodAddresses(deps.informers);
  const state: PodSimulation = { addresses, binds: true };
  return simulatedController(deps, {
    name: "kubelet",
    type: kinds.pod,
    own: ({ type, object }) => {
      if (type !== "deleted") return [keyOf(object)];
      addresses.release(object.metadata.uid ?? "");
      reportStop(deps, object);
      return [];
    },
    watches: [
      { type: "Simulation", object: kinds.simulation, keys: () => unfinished(deps) },
      { type: "Node", object: kinds.node, keys: () => unscheduled(deps) },
    ],
    reconcile: (_deps, context) => reconcile(deps, state, context),
  });
}

interface PodSimulation {
  readonly addresses: PodAddresses;
  /** Whether the server binds Pods to nodes. On one that does not, they run without the name of a node. */
  binds: boolean;
}

function unfinished({ informers }: SimulatorDeps) {
  return (informers.peek(kinds.pod)?.list() ?? []).filter((pod) => !isFinished(pod)).map(keyOf);
}

function unscheduled(deps: SimulatorDeps) {
  const pods = deps.informers.peek(kinds.pod)?.list() ?? [];
  return pods.filter((pod) => textAt(pod, ["spec", "nodeName"]) === undefined).map(keyOf);
}

async function reconcile(deps: PodDeps, state: PodSimulation, context: ReconcileContext): Promise<ReconcileResult> {
  const pod = context.stored.object;
  if (isDeleted(pod) || isFinished(pod)) return {};
  const simulations = deps.informers.peek(kinds.simulation)?.list() ?? [];
  const plan = await inTurns(planOf(pod, simulations));
  const node = textAt(pod, ["spec", "nodeName"]);
  if (node === undefined && textAt(pod, ["status", "startTime"]) === undefined) {
    const isBound = await schedule(deps, context, plan);
    if (isBound !== "unsupported") return {};
    state.binds = false;
  }
  if (node !== nodeName && (node !== undefined || state.binds)) return {};
  return run(deps, context, { plan, podIp: state.addresses.of(pod) });
}

async function run(
  deps: PodDeps,
  context: ReconcileContext,
  { plan, podIp }: { readonly plan: PodPlan; readonly podIp: string },
): Promise<ReconcileResult> {
  const pod = context.stored.object;
  const now = deps.clock.now();
  const { status, events, due } = await inTurns(nextPod({ pod, plan, now, podIp, hostIp: nodeAddress }));
  for (const event of events) context.emit(event);
  await storePodStatus(deps, pod, status);
  return due === undefined ? {} : { requeueAfterMs: Math.max(1, due - deps.clock.now()) };
}

async function storePodStatus({ client }: SimulatorDeps, pod: KubeObject, status: JsonObject): Promise<void> {
  await ignoreNotFound(writeStatus(client, { before: pod, after: { ...pod, status }, fieldManager: "kubelet" }));
}

/** The kubelet reports which containers of a Pod it stops. The API server removes a Pod without waiting for that. */
function reportStop({ events }: SimulatorDeps, pod: KubeObject): void {
  if (textAt(pod, ["spec", "nodeName"]) !== nodeName) return;
  for (const name of runningContainers(pod).slice(0, mostEvents)) {
    const message = `Stopping container ${name}`;
    events.event(pod, { type: "Normal", reason: "Killing", message, annotations: simulatedMark });
  }
}

// The recorder writes fewer about one object.
const mostEvents = 50;

function runningContainers(pod: KubeObject): readonly string[] {
  const statuses = objectsAt(pod, ["status", "containerStatuses"]);
  const running = statuses.filter((status) => optionalObjectAt(status, ["state", "running"]) !== undefined);
  return running.map((status) => stringAt(status, ["name"]));
}

type Scheduling = "bound" | "refused" | "unsupported";

async function schedule(deps: PodDeps, context: ReconcileContext, plan: PodPlan): Promise<Scheduling> {
  const pod = context.stored.object;
  if (hasSchedulingGates(pod)) return "refused";
  const obstacle = plan.outcome.kind === "pending" ? "1 node(s) are simulated as full" : obstacleOf(deps, pod);
  if (obstacle !== undefined) {
    await refuse(deps, context, obstacle);
    return "refused";
  }
  const outcome = await bind(deps, pod);
  const { namespace = "", name = "" } = pod.metadata;
  const message = `Successfully assigned ${namespace}/${name} to ${nodeName}`;
  const event = { type: "Normal", reason: "Scheduled", message, annotations: simulatedMark } as const;
  deps.events.with("default-scheduler").event(pod, event);
  for (const problem of planProblems(pod)) {
    context.emit({ type: "Warning", reason: "InvalidSimulation", message: problem });
  }
  return outcome;
}

/** Why the node cannot take a Pod; undefined when it can. */
function obstacleOf({ informers }: SimulatorDeps, pod: KubeObject): string | undefined {
  const node = informers.peek(kinds.node)?.get({ name: nodeName });
  if (node === undefined) return undefined;
  const wanted = Object.entries(textMapAt(pod, ["spec", "nodeSelector"]) ?? {});
  const hasLabels = wanted.every(([key, value]) => node.metadata.labels?.[key] === value);
  if (!hasLabels) return "1 node(s) didn't match Pod's node affinity/selector";
  return memberAt(node, ["spec", "unschedulable"]) === true && !toleratesCordon(pod)
    ? "1 node(s) were unschedulable"
    : undefined;
}

function toleratesCordon(pod: KubeObject): boolean {
  const tolerations = memberAt(pod, ["spec", "tolerations"]);
  const list = Array.isArray(tolerations) ? (tolerations as readonly JsonObject[]) : [];
  return list.some(
    ({ key, operator }) => operator === "Exists" && (key === undefined || key === "node.kubernetes.io/unschedulable"),
  );
}

async function refuse(deps: PodDeps, context: ReconcileContext, obstacle: string): Promise<void> {
  const pod = context.stored.object;
  const message = `0/1 nodes are available: ${obstacle}. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.`;
  const before = conditionsOf(pod).find(({ type }) => type === "PodScheduled");
  if (before?.reason === "Unschedulable" && before.message === message) return;
  const condition = {
    type: "PodScheduled",
    status: "False",
    observedGeneration: pod.metadata.generation ?? 1,
    lastProbeTime: null,
    lastTransitionTime: before?.status === "False" ? before.lastTransitionTime : conditionTime(deps.clock.now()),
    reason: "Unschedulable",
    message,
  };
  const others = conditionsOf(pod).filter(({ type }) => type !== "PodScheduled");
  deps.events
    .with("default-scheduler")
    .event(pod, { type: "Warning", reason: "FailedScheduling", message, annotations: simulatedMark });
  const status = { ...objectAt(pod, ["status"]), phase: "Pending", conditions: [...others, condition] };
  await storePodStatus(deps, pod, status);
}

const notImplemented = 501;

async function bind({ kube }: PodDeps, pod: KubeObject): Promise<Scheduling> {
  const { namespace = "", name = "", uid = "" } = pod.metadata;
  const body = {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { namespace, name, uid, annotations: simulatedMark },
    target: { kind: "Node", name: nodeName },
  };
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/binding`;
  try {
    await ignoreNotFound(kube.raw({ method: "POST", path, body }));
  } catch (error) {
    if (findStatusError(error)?.status.code === notImplemented) return "unsupported";
    // It is bound already: the informer will say so.
    if (!isConflict(error)) throw error;
  }
  return "bound";
}
