// SPDX-License-Identifier: Apache-2.0
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { conditionTime, isDeleted, type KubeObject, memberAt, stringAt, textAt } from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { isFinished, isReady } from "../pods/pod-state.ts";
import { fieldManager, type SimulatorDeps, simulatedMark } from "../simulator-deps.ts";
import { portsOf } from "./service-ports.ts";

const maxAddresses = 1000;
const triggerAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";
const capacityAnnotation = "endpoints.kubernetes.io/over-capacity";
const managedBy = { "endpoints.kubernetes.io/managed-by": "endpoint-controller" };
const headless = "service.kubernetes.io/headless";

/** Writes the legacy Endpoints of a Service, unless they are stored already. */
export async function storeEndpoints(
  { client, clock }: SimulatorDeps,
  service: KubeObject,
  pods: readonly KubeObject[],
): Promise<void> {
  const { name = "", namespace = "" } = service.metadata;
  const before = await client.get(kinds.endpoints, { name, namespace });
  const shown = pods.filter((pod) => isShown(service, pod));
  const subsets = subsetsOf(service, shown.slice(0, maxAddresses));
  const { [headless]: _headless, ...own } = service.metadata.labels ?? {};
  const isHeadless = textAt(service, ["spec", "clusterIP"]) === "None";
  const labels = { ...own, ...(isHeadless && { [headless]: "" }), ...managedBy };
  const isSame = jsonEqual(before?.["subsets"] ?? [], subsets) && jsonEqual(before?.metadata.labels ?? {}, labels);
  if (before !== undefined && isSame) return;
  const annotations = {
    ...before?.metadata.annotations,
    [triggerAnnotation]: conditionTime(clock.now()),
    ...(shown.length > maxAddresses && { [capacityAnnotation]: "truncated" }),
    ...simulatedMark,
  };
  const metadata = { ...(before?.metadata ?? { name, namespace }), labels, annotations };
  const wanted = { ...kinds.endpoints, metadata, ...(subsets.length > 0 && { subsets }) };
  if (before === undefined) await client.create(wanted, { fieldManager });
  else await client.update(wanted, { fieldManager });
}

/** Deletes the Endpoints of a Service that is gone: they have no owner reference. */
export async function deleteEndpoints({ client }: SimulatorDeps, name: string, namespace: string): Promise<void> {
  const before = await client.get(kinds.endpoints, { name, namespace });
  if (before?.metadata.annotations?.[triggerAnnotation] === undefined) return;
  await ignoreNotFound(client.delete({ ...kinds.endpoints, name, namespace }));
}

function isShown(service: KubeObject, pod: KubeObject): boolean {
  if (textAt(pod, ["status", "podIP"]) === undefined || isFinished(pod)) return false;
  return !isDeleted(pod) || isPublished(service);
}

function isPublished(service: KubeObject): boolean {
  return memberAt(service, ["spec", "publishNotReadyAddresses"]) === true;
}

/** Pods with the same port numbers share a subset. */
function subsetsOf(service: KubeObject, pods: readonly KubeObject[]): readonly JsonObject[] {
  const groups = new Map<string, { ports: readonly JsonObject[]; pods: KubeObject[] }>();
  for (const pod of pods) {
    const ports = portsOf(service, pod).filter((port) => port["port"] !== undefined);
    const key = JSON.stringify(ports);
    const group = groups.get(key) ?? { ports, pods: [] };
    group.pods.push(pod);
    groups.set(key, group);
  }
  return [...groups.values()].map((group) => {
    const isServing = (pod: KubeObject): boolean => isPublished(service) || isReady(pod);
    const byAddress = group.pods.map((pod) => addressOf(service, pod));
    const sorted = (wanted: boolean): readonly JsonObject[] =>
      byAddress
        .filter((_, index) => isServing(group.pods[index] as KubeObject) === wanted)
        .toSorted((a, b) => (stringAt(a, ["ip"]) < stringAt(b, ["ip"]) ? -1 : 1));
    const [addresses, notReadyAddresses] = [sorted(true), sorted(false)];
    const ports = group.ports.map(({ name, ...port }) => ({ ...(name !== "" && { name }), ...port }) as JsonObject);
    return {
      ...(addresses.length > 0 && { addresses }),
      ...(notReadyAddresses.length > 0 && { notReadyAddresses }),
      ...(ports.length > 0 && { ports }),
    };
  });
}

function addressOf(service: KubeObject, pod: KubeObject): JsonObject {
  const { name = "", namespace = "", uid = "" } = pod.metadata;
  const nodeName = textAt(pod, ["spec", "nodeName"]);
  const hostname = textAt(pod, ["spec", "hostname"]);
  const isNamed = hostname !== undefined && textAt(pod, ["spec", "subdomain"]) === service.metadata.name;
  return {
    ip: stringAt(pod, ["status", "podIP"]),
    ...(isNamed && { hostname }),
    ...(nodeName !== undefined && { nodeName }),
    targetRef: { kind: "Pod", namespace, name, uid },
  };
}
