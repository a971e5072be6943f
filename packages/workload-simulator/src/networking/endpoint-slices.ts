// SPDX-License-Identifier: Apache-2.0
import { inTurns, isPartDone, sorting, type Work } from "@purlin/base";
import type { CacheChange } from "@purlin/kube-client";
import type { ReconcileContext, ReconcileResult, WatchingController } from "@purlin/kube-controller";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import { type JsonObject, jsonEqual, printJson } from "@purlin/kube-objects/json";
import {
  conditionTime,
  controllerReference,
  isDeleted,
  type KubeObject,
  keyOf,
  memberAt,
  numberAt,
  type ObjectKey,
  objectsAt,
  stringAt,
  textAt,
  textMapAt,
} from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { listNamespace } from "../owned/claim-children.ts";
import { selecting } from "../owned/selection.ts";
import { isFinished, isReady } from "../pods/pod.ts";
import { simulatedController } from "../simulated-controller.ts";
import { fieldManager, type SimulatorDeps, simulatedMark } from "../simulator-deps.ts";

const maxEndpoints = 100;
const managedBy = "endpointslice-controller.k8s.io";

/** Keeps the EndpointSlices of Services, and the Endpoints that older clients read. */
export function endpointSliceController(deps: SimulatorDeps): WatchingController {
  return simulatedController(deps, {
    name: "endpoint-slice-controller",
    type: kinds.service,
    dependents: [kinds.endpointSlice],
    watches: [{ type: "EndpointPod", object: kinds.pod, keys: (change) => servicesOf(deps, change) }],
    reconcile,
    onGone: (_deps, { name, namespace = "" }) => deleteEndpoints(deps, name, namespace),
  });
}

function servicesOf({ informers }: SimulatorDeps, change: CacheChange): Iterable<ObjectKey | undefined> {
  const { object } = change;
  if (change.type === "updated" && isSameEndpoint(change.previous, object)) return [];
  const services = listNamespace(informers, kinds.service, object.metadata.namespace ?? "");
  const pods = change.type === "updated" ? [object, change.previous] : [object];
  return selecting(services, pods);
}

/** Whether nothing changed that an EndpointSlice shows. */
function isSameEndpoint(a: KubeObject, b: KubeObject): boolean {
  const shown = (pod: KubeObject) =>
    [textAt(pod, ["status", "podIP"]), isReady(pod), isDeleted(pod), isFinished(pod)].join();
  return shown(a) === shown(b) && jsonEqual(a.metadata.labels ?? {}, b.metadata.labels ?? {});
}

async function reconcile(deps: SimulatorDeps, context: ReconcileContext): Promise<ReconcileResult> {
  const service = context.stored.object;
  const { namespace, uid = "" } = service.metadata;
  const selector = textMapAt(service, ["spec", "selector"]) ?? {};
  const isExternal = textAt(service, ["spec", "type"]) === "ExternalName";
  if (isDeleted(service) || Object.keys(selector).length === 0 || isExternal) return {};
  const slices = await deps.client.list(kinds.endpointSlice, { namespace, controller: uid });
  const pods = await deps.client.list(kinds.pod, { namespace, labels: selector });
  await storeEndpoints(deps, service, pods);
  const wanted = await inTurns(wantedSlices(service, pods));
  await Promise.all(wanted.map((slice, index) => store(deps, slice, slices[index])));
  for (const slice of slices.slice(wanted.length)) {
    await ignoreNotFound(deps.client.delete({ ...kinds.endpointSlice, ...keyOf(slice) }));
  }
  return {};
}

/** Writes a slice that is missing or differs. */
async function store({ client }: SimulatorDeps, wanted: KubeObject, before: KubeObject | undefined): Promise<void> {
  if (before === undefined) {
    await client.create(wanted, { fieldManager });
    return;
  }
  const isSame = (["endpoints", "ports"] as const).every((member) =>
    jsonEqual(before[member] ?? [], wanted[member] ?? []),
  );
  if (isSame && jsonEqual(before.metadata.labels ?? {}, wanted.metadata.labels ?? {})) return;
  const { labels } = wanted.metadata;
  const metadata = { ...before.metadata, ...(labels && { labels }) };
  await client.update({ ...wanted, metadata }, { fieldManager });
}

function* wantedSlices(service: KubeObject, pods: readonly KubeObject[]): Work<readonly KubeObject[]> {
  const shown = pods.filter((pod) => textAt(pod, ["status", "podIP"]) !== undefined && !isFinished(pod));
  const sorted = yield* sorting(shown, (a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
  const endpoints: JsonObject[] = [];
  for (const pod of sorted) {
    if (isPartDone()) yield;
    endpoints.push(endpointOf(service, pod));
  }
  // A Service without Pods has one slice without ports.
  const ports = sorted[0] === undefined ? [] : portsOf(service, sorted[0]);
  const count = Math.max(1, Math.ceil(endpoints.length / maxEndpoints));
  return Array.from({ length: count }, (_, index) =>
    sliceOf(service, { endpoints: endpoints.slice(index * maxEndpoints, (index + 1) * maxEndpoints), ports }),
  );
}

function sliceOf(service: KubeObject, contents: JsonObject): KubeObject {
  const { name = "", namespace = "", labels } = service.metadata;
  const isHeadless = textAt(service, ["spec", "clusterIP"]) === "None";
  return {
    ...kinds.endpointSlice,
    metadata: {
      generateName: `${name}-`,
      namespace,
      labels: {
        ...labels,
        ...(isHeadless && { "service.kubernetes.io/headless": "" }),
        "endpointslice.kubernetes.io/managed-by": managedBy,
        "kubernetes.io/service-name": name,
      },
      annotations: simulatedMark,
      ownerReferences: [controllerReference(service)],
    },
    addressType: "IPv4",
    ...contents,
  };
}

function endpointOf(service: KubeObject, pod: KubeObject): JsonObject {
  const { name = "", namespace = "", uid = "" } = pod.metadata;
  const terminating = isDeleted(pod);
  const serving = isReady(pod);
  const isPublished = memberAt(service, ["spec", "publishNotReadyAddresses"]) === true;
  const nodeName = textAt(pod, ["spec", "nodeName"]);
  const hostname = textAt(pod, ["spec", "hostname"]);
  const isNamed = hostname !== undefined && textAt(pod, ["spec", "subdomain"]) === service.metadata.name;
  return {
    addresses: [stringAt(pod, ["status", "podIP"])],
    conditions: { ready: isPublished || (serving && !terminating), serving, terminating },
    ...(isNamed && { hostname }),
    targetRef: { kind: "Pod", namespace, name, uid },
    ...(nodeName !== undefined && { nodeName }),
  };
}

const maxAddresses = 1000;
const triggerAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";
const capacityAnnotation = "endpoints.kubernetes.io/over-capacity";
const endpointsManagedBy = { "endpoints.kubernetes.io/managed-by": "endpoint-controller" };
const headless = "service.kubernetes.io/headless";

/** Writes the legacy Endpoints of a Service, unless they are stored already. */
async function storeEndpoints(
  { client, clock }: SimulatorDeps,
  service: KubeObject,
  pods: readonly KubeObject[],
): Promise<void> {
  const { name = "", namespace = "" } = service.metadata;
  const before = await client.get(kinds.endpoints, { name, namespace });
  const shown = pods.filter((pod) => isShown(service, pod));
  const subsets = await inTurns(subsetsOf(service, shown.slice(0, maxAddresses)));
  const { [headless]: _headless, ...own } = service.metadata.labels ?? {};
  const isHeadless = textAt(service, ["spec", "clusterIP"]) === "None";
  const labels = { ...own, ...(isHeadless && { [headless]: "" }), ...endpointsManagedBy };
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
async function deleteEndpoints({ client }: SimulatorDeps, name: string, namespace: string): Promise<void> {
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
function* subsetsOf(service: KubeObject, pods: readonly KubeObject[]): Work<readonly JsonObject[]> {
  const groups = new Map<string, { ports: readonly JsonObject[]; pods: KubeObject[] }>();
  for (const pod of pods) {
    yield;
    const ports = portsOf(service, pod).filter((port) => port["port"] !== undefined);
    const key = printJson(ports);
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

/** The ports of a Service as a Pod serves them; without a number when the Pod has no port of the name. */
function portsOf(service: KubeObject, pod: KubeObject): readonly JsonObject[] {
  const ports = objectsAt(service, ["spec", "ports"]);
  const isNamed = ports.some((port) => typeof port["targetPort"] === "string");
  const byName = isNamed ? containerPorts(pod) : new Map<string, number>();
  return ports.map((port) => {
    const target = port["targetPort"];
    const number = typeof target === "string" ? byName.get(target) : (target ?? port["port"]);
    const appProtocol = textAt(port, ["appProtocol"]);
    return {
      name: stringAt(port, ["name"]),
      protocol: textAt(port, ["protocol"]) ?? "TCP",
      ...(number !== undefined && { port: number }),
      ...(appProtocol !== undefined && { appProtocol }),
    };
  });
}

/** The numbers of the ports of a Pod by their names; of several with one name, the first. */
function containerPorts(pod: KubeObject): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>();
  for (const container of objectsAt(pod, ["spec", "containers"])) {
    for (const port of objectsAt(container, ["ports"])) {
      const name = stringAt(port, ["name"]);
      if (!numbers.has(name)) numbers.set(name, numberAt(port, ["containerPort"]));
    }
  }
  return numbers;
}
