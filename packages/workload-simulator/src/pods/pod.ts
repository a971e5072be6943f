// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  printJson,
  sortedKeys,
} from "@purlin/kube-objects/json";
import {
  type Condition,
  conditionsOf,
  controllerReference,
  isDeleted,
  type KubeObject,
  memberAt,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  textMapAt,
  textsAt,
} from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { fieldManager, type SimulatorDeps, simulatedMark } from "../simulator-deps.ts";

/** How a Pod differs from its template. */
interface PodOptions {
  /** A full name, or a prefix that the server completes. */
  readonly name: { readonly name: string } | { readonly generateName: string };
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly spec?: JsonObject;
}

/** A Pod of a workload, from a Pod template. */
export function podFromTemplate(owner: KubeObject, template: JsonObject, options: PodOptions): KubeObject {
  const { name, labels, annotations, finalizers = [], spec } = options;
  const allFinalizers = [...textsAt(template, ["metadata", "finalizers"]), ...finalizers];
  return {
    ...kinds.pod,
    metadata: {
      ...name,
      namespace: owner.metadata.namespace ?? "",
      labels: { ...textMapAt(template, ["metadata", "labels"]), ...labels },
      annotations: { ...textMapAt(template, ["metadata", "annotations"]), ...annotations, ...simulatedMark },
      ownerReferences: [controllerReference(owner)],
      ...(allFinalizers.length > 0 && { finalizers: allFinalizers }),
    },
    spec: spec ?? objectAt(template, ["spec"]),
  };
}

/** The Pod template of a workload. */
export function templateOf(workload: KubeObject): JsonObject {
  return objectAt(workload, ["spec", "template"]);
}

/** The replicas that a workload asks for. */
export function replicasOf(workload: KubeObject): number {
  const value = memberAt(workload, ["spec", "replicas"]);
  return typeof value === "number" ? value : 1;
}

// At most this many writes at a time, as the real controllers start slowly: the API server refuses all of them for one reason.
const atOnce = 50;

/** Does work on each item, a limited number at a time; stops after the first part with a failure, and rejects with it. */
export async function inParts<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += atOnce) {
    const part = await Promise.allSettled(items.slice(from, from + atOnce).map(work));
    for (const one of part) if (one.status === "fulfilled") results.push(one.value);
    const failed = part.find((one) => one.status === "rejected");
    if (failed !== undefined) throw new PartialError(results, failed.reason);
  }
  return results;
}

/** Some of the work was done before a part of it failed. */
export class PartialError extends Error {
  readonly done: readonly unknown[];
  constructor(done: readonly unknown[], cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.done = done;
  }
}

/** Stores a new Pod. */
export function createPod({ client }: Pick<SimulatorDeps, "client">, pod: KubeObject): Promise<KubeObject> {
  return client.create(pod, { fieldManager });
}

// The letters of generated names: no vowels, and no digits that look like them.
const letters = "bcdfghjklmnpqrstvwxz2456789";

/** A short name for a Pod template, as `pod-template-hash` and names of revisions have it. Equal templates have equal hashes. */
export function templateHash(template: JsonObject, collisionCount: number): string {
  const hash = createHash("sha256").update(canonical(template));
  if (collisionCount > 0) hash.update(`/${collisionCount}`);
  const digits = String(hash.digest().readUInt32BE(0));
  return [...digits].map((digit) => letters[digit.charCodeAt(0) % letters.length]).join("");
}

/** JSON whose members are in one order. */
function canonical(value: JsonValue): string {
  if (isJsonArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isJsonObject(value)) return printJson(value);
  return `{${sortedKeys(value)
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`)
    .join(",")}}`;
}

/** A number of replicas that is written as a number, or as a percentage of a total. */
export function scaledCount(value: JsonValue | undefined, total: number, round: "up" | "down"): number {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || !value.endsWith("%")) return 0;
  const share = (Number(value.slice(0, -1)) * total) / 100;
  return round === "up" ? Math.ceil(share) : Math.floor(share);
}

/** The phase of a Pod. */
export function phaseOf(pod: KubeObject): string {
  return stringAt(pod, ["status", "phase"]) || "Pending";
}

/** Whether all containers of a Pod ended for good. */
export function isFinished(pod: KubeObject): boolean {
  const phase = phaseOf(pod);
  return phase === "Succeeded" || phase === "Failed";
}

/** Whether a Pod counts as a replica: it has not ended and is not being deleted. */
export function isActive(pod: KubeObject): boolean {
  return !isFinished(pod) && !isDeleted(pod);
}

/** Whether a Pod is being deleted and has not ended yet. */
export function isTerminating(pod: KubeObject): boolean {
  return isDeleted(pod) && !isFinished(pod);
}

function readyCondition(pod: KubeObject): Condition | undefined {
  return conditionsOf(pod).find(({ type, status }) => type === "Ready" && status === "True");
}

/** Whether a Pod serves. */
export function isReady(pod: KubeObject): boolean {
  return readyCondition(pod) !== undefined;
}

/** Since when a Pod serves, in milliseconds; undefined when it does not. */
export function readySince(pod: KubeObject): number | undefined {
  const condition = readyCondition(pod);
  return condition === undefined ? undefined : Date.parse(condition.lastTransitionTime);
}

/** Whether a Pod has been ready for long enough. */
export function isAvailable(pod: KubeObject, minReadySeconds: number, now: number): boolean {
  const since = readySince(pod);
  return since !== undefined && (minReadySeconds === 0 || since + minReadySeconds * 1000 <= now);
}

/** How long until the next Pod that is ready becomes available; undefined when none is about to. */
export function nextAvailableMs(pods: readonly KubeObject[], minReadySeconds: number, now: number): number | undefined {
  if (minReadySeconds === 0) return undefined;
  const delays = pods
    .map((pod) => (readySince(pod) ?? Number.NEGATIVE_INFINITY) + minReadySeconds * 1000 - now)
    .filter((delay) => delay > 0);
  return delays.length === 0 ? undefined : Math.min(...delays);
}

/** How often the containers of a Pod were restarted. */
export function restartsOf(pod: KubeObject): number {
  return objectsAt(pod, ["status", "containerStatuses"]).reduce(
    (most, status) => Math.max(most, numberAt(status, ["restartCount"])),
    0,
  );
}

/** When an object was created, in milliseconds. */
export function createdAt({ metadata }: KubeObject): number {
  return metadata.creationTimestamp ? Date.parse(metadata.creationTimestamp) : 0;
}
