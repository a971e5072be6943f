// SPDX-License-Identifier: Apache-2.0
import { isPartDone, type Work } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  type Condition,
  conditionsOf,
  conditionTime,
  type KubeObject,
  objectAt,
  objectsAt,
  optionalObjectAt,
  stringAt,
} from "@purlin/kube-objects/object";
import { type ContainerEvent, type ContainerStep, nextContainer, statusOf } from "./container-state.ts";
import { containersOf, type PodPlan } from "./pod-plan.ts";

/** A step in the life of a Pod. */
interface PodStep {
  readonly status: JsonObject;
  readonly due?: number | undefined;
  readonly events: readonly ContainerEvent[];
}

/** What a step depends on. */
interface PodScene {
  readonly pod: KubeObject;
  readonly plan: PodPlan;
  readonly now: number;
  /** The addresses of the Pod and of its node. */
  readonly podIp: string;
  readonly hostIp: string;
}

/** The status of a Pod that a node runs, one step further. */
export function* nextPod(scene: PodScene): Work<PodStep> {
  const { pod, now } = scene;
  const known = new Map(objectsAt(pod, ["status", "containerStatuses"]).map((one) => [stringAt(one, ["name"]), one]));
  const steps: ContainerStep[] = [];
  for (const container of containersOf(pod)) {
    if (isPartDone()) yield;
    steps.push(nextContainer(scene, container, known.get(stringAt(container, ["name"]))));
  }
  const statuses = steps.map(({ status }) => status);
  const phase = phaseFrom(statuses);
  const inits = initStatuses(scene);
  const dues = steps.flatMap(({ due }) => due ?? []);
  const conditions = podConditions(pod, { statuses, phase, now });
  const { podIp, hostIp } = scene;
  const status = {
    ...objectAt(pod, ["status"]),
    observedGeneration: pod.metadata.generation ?? 1,
    phase,
    conditions,
    hostIP: hostIp,
    hostIPs: [{ ip: hostIp }],
    podIP: podIp,
    podIPs: [{ ip: podIp }],
    startTime: stringAt(pod, ["status", "startTime"]) || conditionTime(now),
    ...(inits.length > 0 && { initContainerStatuses: inits }),
    containerStatuses: statuses,
  };
  return {
    status,
    events: firstEvents(steps),
    due: dues.length === 0 ? undefined : Math.min(...dues),
  };
}

// The recorder writes fewer about one object, however many containers it has.
const mostEvents = 50;

/** The first events of each type. */
function firstEvents(steps: readonly ContainerStep[]): readonly ContainerEvent[] {
  const counts = { Normal: 0, Warning: 0 };
  return steps.flatMap(({ events }) => events.filter(({ type }) => counts[type]++ < mostEvents));
}

function phaseFrom(statuses: readonly JsonObject[]): string {
  const ended = statuses.map((status) => optionalObjectAt(status, ["state", "terminated"]));
  if (ended.every((one) => one !== undefined))
    return ended.every((one) => one["exitCode"] === 0) ? "Succeeded" : "Failed";
  const neverRan = (status: JsonObject): boolean =>
    optionalObjectAt(status, ["state", "waiting"]) !== undefined &&
    optionalObjectAt(status, ["lastState", "terminated"]) === undefined;
  return statuses.some(neverRan) ? "Pending" : "Running";
}

/** Init containers end at once; those that are restarted always keep running. */
function initStatuses({ pod, now }: PodScene): readonly JsonObject[] {
  const known = objectsAt(pod, ["status", "initContainerStatuses"]);
  if (known.length > 0) return known;
  const time = conditionTime(now);
  return objectsAt(pod, ["spec", "initContainers"]).map((container) => {
    const containerID = `simulated://init/${pod.metadata.uid ?? ""}/${stringAt(container, ["name"])}`;
    if (stringAt(container, ["restartPolicy"]) === "Always") {
      return statusOf(container, { state: { running: { startedAt: time } }, ready: true, started: true, containerID });
    }
    const terminated = { exitCode: 0, reason: "Completed", startedAt: time, finishedAt: time, containerID };
    return statusOf(container, { state: { terminated }, ready: true, started: false, containerID });
  });
}

interface ConditionSource {
  readonly statuses: readonly JsonObject[];
  readonly phase: string;
  readonly now: number;
}

type Said = Pick<Condition, "type" | "status"> & { readonly reason?: string; readonly message?: string };

/** The conditions that the kubelet keeps, in its order, then those of others. */
function podConditions(pod: KubeObject, source: ConditionSource): readonly JsonObject[] {
  const before = new Map(conditionsOf(pod).map((condition) => [condition.type, condition]));
  const isOver = source.phase === "Succeeded" || source.phase === "Failed";
  const serving = servingConditions(pod, source, before);
  const said: readonly Said[] = [
    { type: "PodReadyToStartContainers", status: isOver ? "False" : "True" },
    source.phase === "Succeeded"
      ? { type: "Initialized", status: "True", reason: "PodCompleted" }
      : { type: "Initialized", status: "True" },
    ...serving,
    { type: "PodScheduled", status: "True" },
  ];
  const own = said.map((one) => stamped(pod, one, { before: before.get(one.type), now: source.now }));
  const types = new Set(said.map(({ type }) => type));
  return [...own, ...[...before.values()].filter(({ type }) => !types.has(type))];
}

function servingConditions(
  pod: KubeObject,
  { statuses, phase }: ConditionSource,
  before: ReadonlyMap<string, Condition>,
): readonly Said[] {
  if (phase === "Succeeded" || phase === "Failed") {
    const over = { status: "False", reason: phase === "Succeeded" ? "PodCompleted" : "PodFailed" } as const;
    return [
      { type: "Ready", ...over },
      { type: "ContainersReady", ...over },
    ];
  }
  const unready = statuses.filter((status) => status["ready"] !== true).map((status) => stringAt(status, ["name"]));
  if (unready.length > 0) {
    const not = {
      status: "False",
      reason: "ContainersNotReady",
      message: `containers with unready status: [${unready.join(" ")}]`,
    } as const;
    return [
      { type: "Ready", ...not },
      { type: "ContainersReady", ...not },
    ];
  }
  const gates = objectsAt(pod, ["spec", "readinessGates"]).map((gate) => stringAt(gate, ["conditionType"]));
  const problems = gates.flatMap((gate) => gateProblem(gate, before.get(gate)) ?? []);
  const ready: Said =
    problems.length === 0
      ? { type: "Ready", status: "True" }
      : { type: "Ready", status: "False", reason: "ReadinessGatesNotReady", message: problems.join(", ") };
  return [ready, { type: "ContainersReady", status: "True" }];
}

function gateProblem(gate: string, condition: Condition | undefined): string | undefined {
  if (condition === undefined)
    return `corresponding condition of pod readiness gate ${JSON.stringify(gate)} does not exist.`;
  if (condition.status === "True") return undefined;
  return `the status of pod readiness gate ${JSON.stringify(gate)} is not "True", but ${condition.status}`;
}

/** A condition as the kubelet stores it: the time of the transition changes with the status only. */
function stamped(
  pod: KubeObject,
  said: Said,
  { before, now }: { readonly before: Condition | undefined; readonly now: number },
): JsonObject {
  const lastTransitionTime = before?.status === said.status ? before.lastTransitionTime : conditionTime(now);
  const { type, ...rest } = said;
  return { type, observedGeneration: pod.metadata.generation ?? 1, lastProbeTime: null, lastTransitionTime, ...rest };
}
