// SPDX-License-Identifier: Apache-2.0
// What a namespace looks like, without what differs from cluster to cluster: times, identities, generated names and addresses.
import type { KubeClient } from "@purlin/kube-client";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import {
  annotationOf,
  controllerOf,
  type KubeObject,
  memberAt,
  objectAt,
  objectsAt,
  optionalObjectAt,
  stringAt,
  type TypeRef,
} from "@purlin/kube-objects/object";
import { types } from "./types.ts";

const timeFields = new Set([
  "lastTransitionTime",
  "lastUpdateTime",
  "lastProbeTime",
  "startTime",
  "completionTime",
  "lastScheduleTime",
  "lastSuccessfulTime",
  "lastScaleTime",
  "uid",
  "resourceVersion",
]);
const ownAnnotations = new Set(["purlin.dev/simulated", "endpoints.kubernetes.io/last-change-trigger-time"]);

/** What is known of one namespace, one line an object, and one line for the events about it. */
export type Snapshot = readonly string[];

const workloadTypes = [
  ...[types.deployment, types.statefulSet, types.daemonSet, types.job, types.cronJob, types.autoscaler, types.budget],
];

/** Lists everything that controllers write, by namespace. */
export async function snapshots(client: KubeClient): Promise<ReadonlyMap<string, Snapshot>> {
  const list = async (type: TypeRef): Promise<readonly KubeObject[]> => (await client.list(type)).items;
  const lists = await Promise.all(
    [...workloadTypes, ...otherTypes].map(async (type) => (await list(type)).map((one) => ({ ...type, ...one }))),
  );
  const byNamespace = Map.groupBy(lists.flat(), ({ metadata }) => metadata.namespace ?? "");
  return new Map([...byNamespace].map(([namespace, objects]) => [namespace, linesOf(objects)]));
}

const otherTypes = [
  ...[types.replicaSet, types.replicationController, types.controllerRevision, types.pod],
  ...[types.endpointSlice, types.endpoints, types.event],
];

function linesOf(objects: readonly KubeObject[]): Snapshot {
  const ofKind = (type: TypeRef): readonly KubeObject[] => objects.filter(({ kind }) => kind === type.kind);
  const [sets, revisions, pods] = [types.replicaSet, types.controllerRevision, types.pod].map(ofKind) as [
    readonly KubeObject[],
    readonly KubeObject[],
    readonly KubeObject[],
  ];
  const lines = [
    ...workloadTypes.flatMap(ofKind).map((one) => lineOf(one, { status: memberAt(one, ["status"]) ?? {} })),
    ...[...sets, ...ofKind(types.replicationController)].map((one) => lineOf(one, replicaSetFields(one))),
    ...revisions.map((one) => lineOf(one, { labels: one.metadata.labels ?? {}, owners: ownersOf(one) })),
    ...pods.map((one) => lineOf(one, podFields(one))),
    ...ofKind(types.endpointSlice).map((one) => lineOf(one, sliceFields(one))),
    ...ofKind(types.endpoints).map((one) => lineOf(one, endpointsFields(one))),
    ...eventLines(ofKind(types.event), pods),
  ];
  const tokens = tokensOf(sets, revisions, pods);
  const named = lines.map((line) => tokens.reduce((text, [from, to]) => text.replaceAll(from, to), line));
  // Events outlive the ReplicaSets that they are about.
  return named.map((line) => line.replace(/^(Events ReplicaSet web)-[a-z0-9]+:/, "$1-gone:")).toSorted();
}

function lineOf({ kind, metadata }: KubeObject, fields: JsonObject): string {
  const name = kind === "EndpointSlice" ? (metadata.labels?.["kubernetes.io/service-name"] ?? "") : metadata.name;
  return `${kind} ${name} ${JSON.stringify(masked(fields))}`;
}

function masked(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(masked);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(progressing(value)).filter(([name]) => !timeFields.has(name));
  return Object.fromEntries(entries.sort().map(([name, member]) => [name, masked(member as JsonValue)]));
}

/**
 * Whether a Deployment that waits for its first new Pod says that the ReplicaSet was created or that it progresses depends on how often the
 * controller looks before the Pod is counted.
 */
function progressing(value: JsonObject): JsonObject {
  if (value["type"] !== "Progressing" || value["reason"] !== "NewReplicaSetCreated") return value;
  const message = String(value["message"]).replace(/^Created new replica set (".*")$/, "ReplicaSet $1 is progressing.");
  return { ...value, reason: "ReplicaSetUpdated", message };
}

function annotationsOf({ metadata }: KubeObject): JsonObject {
  const entries = Object.entries(metadata.annotations ?? {});
  return Object.fromEntries(entries.filter(([name]) => !ownAnnotations.has(name)));
}

function ownersOf({ metadata }: KubeObject): readonly JsonObject[] {
  return (metadata.ownerReferences ?? []).map(({ kind, name, controller = false }) => ({ kind, name, controller }));
}

/** In how many steps a ReplicaSet is scaled is a matter of time: its generation counts them. */
function replicaSetFields(set: KubeObject): JsonObject {
  const { observedGeneration: _generation, ...status } = objectAt(set, ["status"]);
  return {
    annotations: annotationsOf(set),
    labels: set.metadata.labels ?? {},
    owners: ownersOf(set),
    replicas: memberAt(set, ["spec", "replicas"]) ?? 1,
    status,
  };
}

function podFields(pod: KubeObject): JsonObject {
  const spec = objectAt(pod, ["spec"]);
  const [hostname, subdomain] = [stringAt(spec, ["hostname"]), stringAt(spec, ["subdomain"])];
  return {
    annotations: annotationsOf(pod),
    labels: pod.metadata.labels ?? {},
    owners: ownersOf(pod),
    finalizers: [...(pod.metadata.finalizers ?? [])],
    phase: stringAt(pod, ["status", "phase"]),
    conditions: objectsAt(pod, ["status", "conditions"]).map(conditionFields),
    containers: objectsAt(pod, ["status", "containerStatuses"]).map(containerFields),
    affinity: objectAt(spec, ["affinity"]),
    ...(hostname !== "" && { hostname }),
    ...(subdomain !== "" && { subdomain }),
  };
}

/** The scheduler of the cluster reads no annotations: Pods that are to be pending ask for another Node there. */
function conditionFields(condition: JsonObject): JsonObject {
  const message = stringAt(condition, ["message"]).replace(
    "are simulated as full",
    "didn't match Pod's node affinity/selector",
  );
  return { ...condition, ...(message !== "" && { message }) };
}

/** How often a container was restarted, and whether it runs or waits for the next time, are matters of time. */
function containerFields(status: JsonObject): JsonObject {
  const fields = { ...status, containerID: "", imageID: "", restartCount: "" };
  if (optionalObjectAt(status, ["lastState", "terminated"]) === undefined) return statesOf(fields);
  return statesOf({ ...fields, ready: "", started: "", state: {} });
}

/** The reasons and exit codes in the states of a container. */
function statesOf(status: JsonObject): JsonObject {
  const states = ["state", "lastState"].map((member): [string, JsonValue] => {
    const [name, value] = Object.entries(objectAt(status, [member]))[0] ?? ["", {}];
    const { reason = "", exitCode = "" } = value as JsonObject;
    return [member, { name, reason, exitCode }];
  });
  return { ...status, ...Object.fromEntries(states) };
}

const byText = (a: JsonValue, b: JsonValue): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

function sliceFields(slice: KubeObject): JsonObject {
  const endpoints = objectsAt(slice, ["endpoints"]).map(({ addresses: _addresses, ...rest }) => rest as JsonObject);
  return {
    labels: slice.metadata.labels ?? {},
    owners: ownersOf(slice),
    ports: memberAt(slice, ["ports"]) ?? [],
    count: endpoints.length,
    endpoints: [
      ...new Map(endpoints.map((one) => [JSON.stringify(one["conditions"]), one["conditions"] ?? {}])).values(),
    ],
  };
}

function endpointsFields(object: KubeObject): JsonObject {
  const subsets = objectsAt(object, ["subsets"]).map((subset) => ({
    ready: objectsAt(subset, ["addresses"]).length,
    notReady: objectsAt(subset, ["notReadyAddresses"]).length,
    ports: memberAt(subset, ["ports"]) ?? [],
  }));
  return { labels: object.metadata.labels ?? {}, subsets: subsets.toSorted(byText) };
}

/**
 * Types and reasons in the order in which they first happened. How far a Pod had come when it was removed is a matter of time: of Pods that are
 * gone it counts what happened to any of them.
 */
function eventLines(events: readonly KubeObject[], pods: readonly KubeObject[]): readonly string[] {
  const alive = new Set(pods.map(({ metadata }) => metadata.uid));
  const isGone = (event: KubeObject): boolean =>
    stringAt(event, ["involvedObject", "kind"]) === "Pod" && !alive.has(stringAt(event, ["involvedObject", "uid"]));
  const [gone, others] = [events.filter(isGone), events.filter((event) => !isGone(event) && !isConflict(event))];
  const about = Map.groupBy(others, subjectOf);
  const lines = [...about].map(([object, list]) => `Events ${object}: ${reasonsOf(list).join(", ")}`);
  return gone.length === 0
    ? lines
    : [...lines, `Events of Pods that are gone: ${reasonsOf(gone).toSorted().join(", ")}`];
}

/** The scheduler and the kubelet do not wait for each other's events. */
function subjectOf(event: KubeObject): string {
  const source = stringAt(event, ["source", "component"]) || stringAt(event, ["reportingComponent"]);
  const suffix = source === "default-scheduler" ? " by the scheduler" : "";
  return `${stringAt(event, ["involvedObject", "kind"])} ${stringAt(event, ["involvedObject", "name"])}${suffix}`;
}

function reasonsOf(events: readonly KubeObject[]): readonly string[] {
  const sorted = events.toSorted((a, b) => (instantOf(a) < instantOf(b) ? -1 : 1));
  return [...new Set(sorted.map((event) => `${stringAt(event, ["type"])} ${stringAt(event, ["reason"])}`))];
}

/** The cluster's autoscaler reports when another writer was faster. */
function isConflict(event: KubeObject): boolean {
  return stringAt(event, ["reason"]) === "FailedUpdateStatus";
}

/** The name of an event ends with the time of its first occurrence. */
function instantOf(event: KubeObject): string {
  const suffix = (event.metadata.name ?? "").split(".").at(-1) ?? "";
  return suffix.padStart(24, "0");
}

/** What generated names and hashes are replaced by: the revision of a ReplicaSet or of another workload. */
function tokensOf(
  sets: readonly KubeObject[],
  revisions: readonly KubeObject[],
  pods: readonly KubeObject[],
): readonly (readonly [string, string])[] {
  const tokens: [string, string][] = [];
  for (const pod of pods) {
    const { name = "" } = pod.metadata;
    const owner = controllerOf(pod);
    if (owner !== undefined && owner.kind !== "StatefulSet") tokens.push([name, `${name.slice(0, -5)}*`]);
    const uid = pod.metadata.labels?.["batch.kubernetes.io/controller-uid"];
    if (uid !== undefined) tokens.push([uid, "UID"]);
  }
  for (const set of sets) {
    const hash = set.metadata.labels?.["pod-template-hash"];
    const revision = annotationOf(set, "deployment.kubernetes.io/revision") ?? "";
    if (hash !== undefined) tokens.push([hash, `#${revision}`]);
  }
  for (const one of revisions) {
    const hash = (one.metadata.name ?? "").split("-").at(-1) ?? "";
    if (hash !== "") tokens.push([hash, `#${Number(memberAt(one, ["revision"]))}`]);
  }
  return tokens.toSorted(([a], [b]) => b.length - a.length);
}
