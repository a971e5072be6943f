// SPDX-License-Identifier: Apache-2.0
import { at, count, items, number, text } from "@purlin/kube-apiserver/kinds";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { ageOf } from "@purlin/kube-objects/object";

/** How far a Pod has come, in a few words and numbers. */
interface PodProgress {
  readonly reason: string;
  readonly ready: number;
  readonly total: number;
  readonly restarts: number;
  /** When a container last had to be started again; undefined: none had. */
  readonly restartedAt: string | undefined;
}

/** Restarts of some containers. */
type Restarts = Pick<PodProgress, "restarts" | "restartedAt">;

const isTrue = (pod: JsonObject, type: string): boolean =>
  items(pod, "status", "conditions").some((one) => text(one, "type") === type && text(one, "status") === "True");

/** Reads a Pod's status. Containers that run before and beside the others count once they have started. */
function podProgress(pod: JsonObject): PodProgress {
  const sidecars = sidecarsOf(pod);
  const total = count(pod, "spec", "containers") + sidecars.size;
  const before = initProgress(pod, sidecars);
  if (before.reason !== undefined && !isTrue(pod, "Initialized")) {
    return { ...before.restarts, reason: withDeletion(pod, before.reason), ready: before.ready, total };
  }
  const statuses = items(pod, "status", "containerStatuses");
  const started = items(pod, "status", "initContainerStatuses").slice(0, before.seen);
  const beside = started.filter((one) => sidecars.has(text(one, "name")));
  const running = statuses.filter(isRunning);
  const reason = runningReason(pod, statuses, before.reason ?? phaseOf(pod));
  const ready = before.ready + running.length;
  return { ...restartsOf([...beside, ...statuses]), reason: withDeletion(pod, reason), ready, total };
}

function sidecarsOf(pod: JsonObject): ReadonlySet<string> {
  const beside = items(pod, "spec", "initContainers").filter((one) => text(one, "restartPolicy") === "Always");
  return new Set(beside.map((one) => text(one, "name")));
}

function phaseOf(pod: JsonObject): string {
  const isGated = items(pod, "status", "conditions").some(
    (one) => text(one, "type") === "PodScheduled" && text(one, "reason") === "SchedulingGated",
  );
  return isGated ? "SchedulingGated" : text(pod, "status", "reason") || text(pod, "status", "phase");
}

interface InitProgress {
  /** What holds the Pod up; undefined: nothing does. */
  readonly reason: string | undefined;
  readonly ready: number;
  /** How many of the statuses were looked at. */
  readonly seen: number;
  readonly restarts: Restarts;
}

/** Goes through the containers that come first, up to the one that is not done yet. */
function initProgress(pod: JsonObject, sidecars: ReadonlySet<string>): InitProgress {
  const statuses = items(pod, "status", "initContainerStatuses");
  let ready = 0;
  for (const [index, status] of statuses.entries()) {
    const hasStarted = sidecars.has(text(status, "name")) && at(status, "started") === true;
    const isDone =
      at(status, "state", "terminated") !== undefined && number(status, "state", "terminated", "exitCode") === 0;
    if (!isDone && !hasStarted) {
      const reason = initReason(status) ?? `Init:${index}/${count(pod, "spec", "initContainers")}`;
      return { reason, ready, seen: index + 1, restarts: restartsOf(statuses.slice(0, index + 1)) };
    }
    if (!isDone && at(status, "ready") === true) ready += 1;
  }
  return { reason: undefined, ready, seen: statuses.length, restarts: restartsOf([]) };
}

function initReason(status: JsonObject): string | undefined {
  const ended = endedReason(status);
  const waiting = text(status, "state", "waiting", "reason");
  if (ended !== undefined) return `Init:${ended}`;
  return waiting === "" || waiting === "PodInitializing" ? undefined : `Init:${waiting}`;
}

/** Why a container ended; undefined: it has not. */
function endedReason(status: JsonObject): string | undefined {
  const ended = at(status, "state", "terminated");
  if (ended === undefined) return undefined;
  const signal = number(ended, "signal");
  return text(ended, "reason") || (signal === 0 ? `ExitCode:${number(ended, "exitCode")}` : `Signal:${signal}`);
}

function isRunning(status: JsonObject): boolean {
  const isIdle = text(status, "state", "waiting", "reason") !== "" || at(status, "state", "terminated") !== undefined;
  return !isIdle && at(status, "ready") === true && at(status, "state", "running") !== undefined;
}

/** The first container that waits or has ended says it, unless others still run. */
function runningReason(pod: JsonObject, statuses: readonly JsonObject[], otherwise: string): string {
  const reasons = statuses.map((status) => text(status, "state", "waiting", "reason") || endedReason(status));
  const reason = reasons.find((one) => one !== undefined) ?? otherwise;
  if (reason !== "Completed" || !statuses.some(isRunning)) return reason;
  return isTrue(pod, "Ready") ? "Running" : "NotReady";
}

function withDeletion(pod: JsonObject, reason: string): string {
  if (text(pod, "metadata", "deletionTimestamp") === "") return reason;
  if (text(pod, "status", "reason") === "NodeLost") return "Unknown";
  return ["Succeeded", "Failed"].includes(text(pod, "status", "phase")) ? reason : "Terminating";
}

function restartsOf(statuses: readonly JsonObject[]): Restarts {
  const times = statuses.map((status) => text(status, "lastState", "terminated", "finishedAt")).filter(Boolean);
  const latest = times.toSorted((a, b) => Date.parse(a) - Date.parse(b)).at(-1);
  return { restarts: statuses.reduce((sum, one) => sum + number(one, "restartCount"), 0), restartedAt: latest };
}

/** The cells of a Pod. Pods do not run here, but another program may write their status. */
export function podCells(object: JsonObject, now: number): JsonValue[] {
  const { reason, ready, total, restarts, restartedAt } = podProgress(object);
  const ago = restarts === 0 || restartedAt === undefined ? "" : ` (${ageOf(restartedAt, now)} ago)`;
  return [
    text(object, "metadata", "name"),
    `${ready}/${total}`,
    reason,
    `${restarts}${ago}`,
    ageOf(at(object, "metadata", "creationTimestamp"), now),
    text(object, "status", "podIP") || text(items(object, "status", "podIPs")[0], "ip") || "<none>",
    text(object, "spec", "nodeName") || "<none>",
    text(object, "status", "nominatedNodeName") || "<none>",
    gatesText(object),
  ];
}

function gatesText(object: JsonObject): string {
  const gates = items(object, "spec", "readinessGates").map((gate) => text(gate, "conditionType"));
  const passed = new Set(
    items(object, "status", "conditions")
      .filter((one) => text(one, "status") === "True")
      .map((one) => text(one, "type")),
  );
  return gates.length === 0 ? "<none>" : `${gates.filter((gate) => passed.has(gate)).length}/${gates.length}`;
}

const ended: Readonly<Record<string, string>> = {
  Succeeded: "The pod has completed successfully.",
  Failed: "The pod failed.",
};

/** What a row says about a Pod that has come to its end, so that clients may leave it out. */
export function podConditions(object: JsonObject): JsonObject[] {
  const phase = text(object, "status", "phase");
  const message = Object.hasOwn(ended, phase) ? ended[phase] : undefined;
  return message === undefined ? [] : [{ type: "Completed", status: "True", reason: phase, message }];
}
