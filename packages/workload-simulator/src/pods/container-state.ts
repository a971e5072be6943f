// SPDX-License-Identifier: Apache-2.0

import { createHash } from "node:crypto";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  conditionTime,
  type KubeObject,
  numberAt,
  objectAt,
  optionalObjectAt,
  stringAt,
  textAt,
} from "@purlin/kube-objects/object";
import { defaultOutcome, type Outcome, type PodPlan } from "./pod-plan.ts";

/** The state of a container after a step, and when the next step is due. */
export interface ContainerStep {
  readonly status: JsonObject;
  /** When the state changes next, in milliseconds since the epoch; undefined when it stays. */
  readonly due?: number | undefined;
  /** What the kubelet reports about it. */
  readonly events: readonly ContainerEvent[];
}

/** An event of the kubelet about a container. */
export interface ContainerEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** What one step of a container depends on. */
interface ContainerScene {
  readonly pod: KubeObject;
  readonly plan: PodPlan;
  readonly now: number;
}

const firstBackoffMs = 10_000;
const longestBackoffMs = 300_000;

/** The next state of a container, from its status as it is stored. */
export function nextContainer(
  scene: ContainerScene,
  container: JsonObject,
  before: JsonObject | undefined,
): ContainerStep {
  const { pod, plan, now } = scene;
  const concerned = plan.concerns(container);
  const outcome = concerned ? plan.outcome : defaultOutcome(pod);
  const running = optionalObjectAt(before ?? {}, ["state", "running"]);
  const last = optionalObjectAt(before ?? {}, ["state", "terminated"]);
  if (before === undefined || isWaiting(before, "ImagePullBackOff")) {
    return outcome.kind === "image-pull" ? pullFailure(container, before) : started(scene, container, { restarts: 0 });
  }
  if (last !== undefined) return { status: before, events: [] };
  if (running !== undefined)
    return whileRunning(scene, container, { before, outcome, startedAt: Date.parse(stringAt(running, ["startedAt"])) });
  // It waits to be restarted.
  const restarts = numberAt(before, ["restartCount"]);
  const due = Date.parse(stringAt(before, ["lastState", "terminated", "finishedAt"])) + backoffMs(restarts);
  if (outcome.kind === "exit" && now < due) return { status: before, due, events: [] };
  return started(scene, container, { restarts: restarts + 1, lastState: objectAt(before, ["lastState"]) });
}

function isWaiting(status: JsonObject, reason: string): boolean {
  return textAt(status, ["state", "waiting", "reason"]) === reason;
}

/** How long a container waits for its next restart. */
function backoffMs(restarts: number): number {
  return Math.min(longestBackoffMs, firstBackoffMs * 2 ** Math.max(0, restarts - 1));
}

function pullFailure(container: JsonObject, before: JsonObject | undefined): ContainerStep {
  const image = stringAt(container, ["image"]);
  const cause = `failed to pull image ${JSON.stringify(image)}: simulated: not found`;
  const message = `Back-off pulling image ${JSON.stringify(image)}: ErrImagePull: ${cause}`;
  const status = statusOf(container, {
    state: { waiting: { reason: "ImagePullBackOff", message } },
    ready: false,
    started: false,
  });
  if (before !== undefined) return { status, events: [] };
  const warning = (reason: string, text: string): ContainerEvent => ({ type: "Warning", reason, message: text });
  return {
    status,
    events: [
      { type: "Normal", reason: "Pulling", message: `Pulling image ${JSON.stringify(image)}` },
      warning("Failed", `Failed to pull image ${JSON.stringify(image)}: simulated: not found`),
      warning("Failed", "Error: ErrImagePull"),
      { type: "Normal", reason: "BackOff", message: `Back-off pulling image ${JSON.stringify(image)}` },
      warning("Failed", "Error: ImagePullBackOff"),
    ],
  };
}

interface Start {
  readonly restarts: number;
  readonly lastState?: JsonObject;
}

function started(scene: ContainerScene, container: JsonObject, { restarts, lastState = {} }: Start): ContainerStep {
  const { now, plan } = scene;
  const image = stringAt(container, ["image"]);
  const state = { running: { startedAt: conditionTime(now) } };
  const ready = !plan.concerns(container) || plan.readyAfterMs === 0;
  const status = statusOf(container, {
    state,
    lastState,
    ready,
    started: true,
    restartCount: restarts,
    containerID: idOf(scene.pod, container, restarts),
  });
  const normal = (reason: string, message: string): ContainerEvent => ({ type: "Normal", reason, message });
  const present = `Container image ${JSON.stringify(image)} already present on machine and can be accessed by the pod`;
  const events = [
    normal("Pulled", present),
    normal("Created", "Container created"),
    normal("Started", "Container started"),
  ];
  return { status, due: dueWhileRunning(scene, container, now), events };
}

interface RunningContainer {
  readonly before: JsonObject;
  readonly outcome: Outcome;
  readonly startedAt: number;
}

function whileRunning(scene: ContainerScene, container: JsonObject, running: RunningContainer): ContainerStep {
  const { plan, now } = scene;
  const { before, outcome, startedAt } = running;
  const endsAt = startedAt + (plan.concerns(container) ? plan.outcomeAfterMs : 0);
  if (outcome.kind === "exit" && now >= endsAt) return ended(scene, container, { ...running, outcome });
  const isReady = !plan.concerns(container) || now >= startedAt + plan.readyAfterMs;
  const status = isReady === (before["ready"] === true) ? before : { ...before, ready: isReady };
  return { status, due: dueWhileRunning(scene, container, startedAt), events: [] };
}

function dueWhileRunning(
  { pod, plan, now }: ContainerScene,
  container: JsonObject,
  startedAt: number,
): number | undefined {
  const concerned = plan.concerns(container);
  const { kind } = concerned ? plan.outcome : defaultOutcome(pod);
  const times = [
    ...(concerned ? [startedAt + plan.readyAfterMs] : []),
    ...(kind === "exit" ? [Math.max(now + 1, startedAt + (concerned ? plan.outcomeAfterMs : 0))] : []),
  ].filter((time) => time > now);
  return times.length === 0 ? undefined : Math.min(...times);
}

function ended(
  scene: ContainerScene,
  container: JsonObject,
  running: RunningContainer & { readonly outcome: Outcome & { readonly kind: "exit" } },
): ContainerStep {
  const { pod, now } = scene;
  const { before, outcome, startedAt } = running;
  const restarts = numberAt(before, ["restartCount"]);
  const finishedAt = conditionTime(now);
  const { code, reason } = outcome;
  const containerID = stringAt(before, ["containerID"]);
  const terminated = { exitCode: code, reason, startedAt: conditionTime(startedAt), finishedAt, containerID };
  if (!isRestarted(pod, code)) {
    return { status: { ...before, state: { terminated }, ready: false, started: false }, events: [] };
  }
  // The first restart is immediate.
  if (restarts === 0) return started(scene, container, { restarts: 1, lastState: { terminated } });
  const name = stringAt(container, ["name"]);
  const podText = `${pod.metadata.name ?? ""}_${pod.metadata.namespace ?? ""}(${pod.metadata.uid ?? ""})`;
  const seconds = durationText(backoffMs(restarts));
  const waiting = {
    reason: "CrashLoopBackOff",
    message: `back-off ${seconds} restarting failed container=${name} pod=${podText}`,
  };
  const status = { ...before, state: { waiting }, lastState: { terminated }, ready: false, started: false };
  const message = `Back-off restarting failed container ${name} in pod ${podText}`;
  return { status, due: now + backoffMs(restarts), events: [{ type: "Warning", reason: "BackOff", message }] };
}

function isRestarted(pod: KubeObject, code: number): boolean {
  const policy = textAt(pod, ["spec", "restartPolicy"]) ?? "Always";
  return policy === "Always" || (policy === "OnFailure" && code !== 0);
}

/** As Go prints a duration of whole seconds. */
function durationText(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

function idOf({ metadata }: KubeObject, container: JsonObject, restarts: number): string {
  const text = `${metadata.uid ?? ""}/${stringAt(container, ["name"])}/${restarts}`;
  return `simulated://${createHash("sha256").update(text).digest("hex")}`;
}

/** The status of a container in the order of its fields. */
export function statusOf(container: JsonObject, fields: JsonObject): JsonObject {
  const image = stringAt(container, ["image"]);
  const imageID = fields["containerID"] === undefined ? "" : `simulated://${image}`;
  return { name: stringAt(container, ["name"]), lastState: {}, restartCount: 0, image, imageID, ...fields };
}
