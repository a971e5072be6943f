// SPDX-License-Identifier: Apache-2.0
// EndpointSlices and Endpoints over Services and Pods in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, objectsAt } from "@purlin/kube-objects/object";
import { World } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { endpointSliceController } from "./endpoint-slices.ts";

const ports = [{ name: "http", port: 80, targetPort: 8080, protocol: "TCP" }];

function worldWith(spec: JsonObject = {}, metadata: JsonObject = {}): World {
  const world = new World();
  world.put(kinds.service, "web", { metadata, spec: { selector: { app: "web" }, ports, ...spec } });
  return world;
}

interface PodOptions {
  readonly isReady?: boolean;
  readonly phase?: string;
  readonly spec?: JsonObject;
  readonly isDeleted?: boolean;
  readonly ip?: string | null;
}

function addPod(world: World, name: string, options: PodOptions = {}): void {
  const { isReady = true, phase = "Running", spec = {}, isDeleted = false, ip = `10.244.0.${name.slice(1)}` } = options;
  const conditions = [{ type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: "", reason: "" }];
  world.put(kinds.pod, name, {
    metadata: { labels: { app: "web" }, ...(isDeleted && { deletionTimestamp: "2026-01-01T00:00:00Z" }) },
    spec: { nodeName: "n", ...spec },
    status: { phase, conditions, ...(ip !== null && { podIP: ip }) },
  });
}

const step = (world: World) => world.reconcile(endpointSliceController, "web");
const slice = (world: World): KubeObject => world.list(kinds.endpointSlice)[0] ?? assert.fail("there is no slice");
const endpoints = (world: World): readonly JsonObject[] => objectsAt(slice(world), ["endpoints"]);
const subsets = (world: World): unknown => world.get(kinds.endpoints, "web")["subsets"];
const targetRef = (name: string): JsonObject => ({ kind: "Pod", namespace: "default", name, uid: `uid-of-${name}` });

test("a slice names the Pods of a Service, and its ports", async () => {
  const world = worldWith({}, { labels: { team: "a" } });
  addPod(world, "p2");
  addPod(world, "p1", { isReady: false });
  await step(world);
  const { metadata, ...rest } = slice(world);
  assert.deepEqual(metadata.labels, {
    team: "a",
    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    "kubernetes.io/service-name": "web",
  });
  assert.ok(metadata.name?.startsWith("web-"));
  assert.deepEqual(rest, {
    ...kinds.endpointSlice,
    addressType: "IPv4",
    endpoints: [
      {
        addresses: ["10.244.0.1"],
        conditions: { ready: false, serving: false, terminating: false },
        targetRef: targetRef("p1"),
        nodeName: "n",
      },
      {
        addresses: ["10.244.0.2"],
        conditions: { ready: true, serving: true, terminating: false },
        targetRef: targetRef("p2"),
        nodeName: "n",
      },
    ],
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
  });
  world.takeWrites();
  await step(world);
  assert.deepEqual(world.takeWrites(), []);
});

test("legacy Endpoints separate Pods that serve from the others", async () => {
  const world = worldWith();
  addPod(world, "p2");
  addPod(world, "p1", { isReady: false });
  addPod(world, "p3");
  await step(world);
  const address = (name: string): JsonObject => ({
    ip: `10.244.0.${name.slice(1)}`,
    nodeName: "n",
    targetRef: targetRef(name),
  });
  assert.deepEqual(subsets(world), [
    {
      addresses: [address("p2"), address("p3")],
      notReadyAddresses: [address("p1")],
      ports: [{ name: "http", protocol: "TCP", port: 8080 }],
    },
  ]);
  const { labels, annotations } = world.get(kinds.endpoints, "web").metadata;
  assert.deepEqual(labels, { "endpoints.kubernetes.io/managed-by": "endpoint-controller" });
  assert.equal(annotations?.["endpoints.kubernetes.io/last-change-trigger-time"], "2026-01-01T00:00:00Z");
});

test("Pods without an address and Pods that ended are left out", async () => {
  const world = worldWith();
  addPod(world, "p1", { ip: null });
  addPod(world, "p2", { phase: "Succeeded" });
  await step(world);
  assert.deepEqual(endpoints(world), []);
  assert.deepEqual(slice(world)["ports"], []);
  assert.equal(subsets(world), undefined);
});

test("a Pod that is being deleted serves and is not ready", async () => {
  const world = worldWith();
  addPod(world, "p1", { isDeleted: true });
  await step(world);
  assert.deepEqual(endpoints(world)[0]?.["conditions"], { ready: false, serving: true, terminating: true });
  assert.equal(subsets(world), undefined);
});

test("addresses that are not ready can be published", async () => {
  const world = worldWith({ publishNotReadyAddresses: true });
  addPod(world, "p1", { isReady: false });
  addPod(world, "p2", { isDeleted: true });
  await step(world);
  assert.deepEqual(
    endpoints(world).map((one) => one["conditions"]),
    [
      { ready: true, serving: false, terminating: false },
      { ready: true, serving: true, terminating: true },
    ],
  );
  assert.equal((subsets(world) as { addresses: readonly unknown[] }[])[0]?.addresses.length, 2);
});

test("a port by its name is that of the container; Pods with other numbers have a subset of their own", async () => {
  const world = worldWith({ ports: [{ port: 80, targetPort: "web", appProtocol: "http" }] });
  const containers = (containerPort: number): JsonObject => ({
    containers: [{ ports: [{ name: "web", containerPort }] }],
  });
  addPod(world, "p1", { spec: containers(8080) });
  addPod(world, "p2", { spec: containers(9090) });
  addPod(world, "p3");
  await step(world);
  const shown = subsets(world) as readonly { readonly ports?: readonly JsonObject[] }[];
  assert.deepEqual(
    shown.map((one) => one.ports),
    [
      [{ protocol: "TCP", port: 8080, appProtocol: "http" }],
      [{ protocol: "TCP", port: 9090, appProtocol: "http" }],
      undefined,
    ],
  );
});

test("a port without a target is the port of the Service", async () => {
  const world = worldWith({ ports: [{ port: 80 }] });
  addPod(world, "p1");
  await step(world);
  assert.deepEqual(slice(world)["ports"], [{ name: "", protocol: "TCP", port: 80 }]);
});

test("a Pod of the domain of its Service has its host name", async () => {
  const world = worldWith({ clusterIP: "None" });
  addPod(world, "p1", { spec: { hostname: "db-0", subdomain: "web" } });
  addPod(world, "p2", { spec: { hostname: "db-1", subdomain: "other" } });
  await step(world);
  assert.deepEqual(
    endpoints(world).map((one) => one["hostname"]),
    ["db-0", undefined],
  );
  assert.equal(slice(world).metadata.labels?.["service.kubernetes.io/headless"], "");
  assert.equal(world.get(kinds.endpoints, "web").metadata.labels?.["service.kubernetes.io/headless"], "");
});

test("a slice has at most 100 endpoints, and slices that are not needed are deleted", async () => {
  const world = worldWith();
  for (let index = 1; index <= 101; index++) addPod(world, `p${index}`);
  await step(world);
  assert.deepEqual(
    world.list(kinds.endpointSlice).map((one) => objectsAt(one, ["endpoints"]).length),
    [100, 1],
  );
  await world.deps.client.delete({ ...kinds.pod, name: "p7", namespace: "default" });
  await step(world);
  assert.deepEqual(
    world.list(kinds.endpointSlice).map((one) => objectsAt(one, ["endpoints"]).length),
    [100],
  );
});

test("legacy Endpoints have at most 1000 addresses, and say that some are left out", async () => {
  const world = worldWith();
  for (let index = 1; index <= 1001; index++) addPod(world, `p${index}`);
  await step(world);
  assert.equal((subsets(world) as { addresses: readonly unknown[] }[])[0]?.addresses.length, 1000);
  const { annotations } = world.get(kinds.endpoints, "web").metadata;
  assert.equal(annotations?.["endpoints.kubernetes.io/over-capacity"], "truncated");
});

test("a Service without a selector and one of an external name have no slices", async () => {
  for (const spec of [{ selector: null }, { selector: {} }, { type: "ExternalName" }]) {
    const world = worldWith(spec);
    addPod(world, "p1");
    await step(world);
    assert.deepEqual(world.takeWrites(), []);
  }
});

test("the Endpoints of a Service that is gone are deleted, those of users are not", async () => {
  const world = worldWith();
  await step(world);
  await world.deps.client.delete({ ...kinds.service, name: "web", namespace: "default" });
  await step(world);
  assert.deepEqual(world.list(kinds.endpoints), []);
  world.put(kinds.endpoints, "web");
  await step(world);
  assert.equal(world.list(kinds.endpoints).length, 1);
});
