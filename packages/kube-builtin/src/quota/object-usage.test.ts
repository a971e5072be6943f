// SPDX-License-Identifier: Apache-2.0
// What objects count for in quotas, and how they are followed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { objectCodec, openStore, tempDirectory } from "@purlin/kube-apiserver/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { amountsAt } from "../checks/resource-names.ts";
import { FollowedObjects, podAmounts, usageOf } from "./object-usage.ts";

const unit = 1_000_000_000n;
const usage = (group: string, resource: string, object: JsonObject = {}): Record<string, bigint> =>
  Object.fromEntries(usageOf({ group, resource }, object));
const container = (requests: JsonObject, limits: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  name: "c",
  resources: { requests, limits },
  ...more,
});
const pod = (spec: JsonObject, status: JsonObject = {}): JsonObject => ({ spec, status });

test("every object counts once under its resource and group", () => {
  assert.deepEqual(usage("apps", "deployments"), { "count/deployments.apps": unit });
  assert.deepEqual(usage("", "configmaps"), { "count/configmaps": unit, configmaps: unit });
  assert.deepEqual(usage("", "endpoints"), { "count/endpoints": unit });
  assert.deepEqual(usage("example.org", "services"), { "count/services.example.org": unit });
});

test("a Pod counts with its requests and limits until it has ended", () => {
  const one = pod({ containers: [container({ cpu: "500m", "example.org/gpu": "2" }, { memory: "1Ki" })] });
  assert.deepEqual(usage("", "pods", one), {
    "count/pods": unit,
    pods: unit,
    "requests.cpu": unit / 2n,
    cpu: unit / 2n,
    "requests.example.org/gpu": 2n * unit,
    "limits.memory": 1024n * unit,
  });
  for (const phase of ["Succeeded", "Failed"])
    assert.deepEqual(usage("", "pods", { ...one, status: { phase } }), { "count/pods": unit });
});

test("a deleted Pod counts until its grace period is over once more", () => {
  const metadata = { deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30 };
  const leaving = { ...pod({ containers: [container({ cpu: "1" })] }), metadata };
  const pods = { group: "", resource: "pods" };
  const end = Date.parse("2026-01-01T00:01:00Z");
  assert.equal(usageOf(pods, leaving, end).get("cpu"), unit);
  assert.deepEqual(Object.fromEntries(usageOf(pods, leaving, end + 1)), { "count/pods": unit });
  const open = { ...leaving, metadata: { deletionTimestamp: metadata.deletionTimestamp } };
  assert.equal(usageOf(pods, open, end + 1).get("cpu"), unit);
});

test("the requests of a Pod are those of its containers, and at least those of each init container", () => {
  const requests = (spec: JsonObject): unknown => podAmounts(pod(spec), "requests");
  assert.deepEqual(requests({ containers: [container({ cpu: "1" }), container({ cpu: "500m", memory: "1Gi" })] }), {
    cpu: "1500m",
    memory: "1Gi",
  });
  assert.deepEqual(
    requests({
      containers: [container({ cpu: "1" })],
      initContainers: [container({ cpu: "3" }), container({ cpu: "2", a: "1" })],
    }),
    { cpu: "3", a: "1" },
  );
  assert.deepEqual(requests({ containers: [container({ cpu: "4" })], initContainers: [container({ cpu: "3" })] }), {
    cpu: "4",
  });
  assert.deepEqual(requests({}), {});
});

test("sidecars run with the containers, and with the init containers after them", () => {
  const sidecar = container({ cpu: "1" }, {}, { restartPolicy: "Always" });
  const requests = (containers: JsonObject[], initContainers: JsonObject[]): unknown =>
    podAmounts(pod({ containers, initContainers }), "requests");
  assert.deepEqual(requests([container({ cpu: "1" })], [sidecar, sidecar]), { cpu: "3" });
  assert.deepEqual(
    requests([container({ cpu: "1" })], [sidecar, container({ cpu: "5" })]),
    { cpu: "6" },
    "beside a sidecar",
  );
  assert.deepEqual(requests([container({ cpu: "1" })], [container({ cpu: "5" }), sidecar]), { cpu: "5" }, "before it");
});

test("resources of the whole Pod count instead of those of its containers", () => {
  const spec = {
    resources: { limits: { cpu: "7", "hugepages-2Mi": "4Mi" } },
    containers: [container({}, { cpu: "1", "example.org/gpu": "1" })],
  };
  assert.deepEqual(podAmounts(pod(spec), "limits"), { cpu: "7", "example.org/gpu": "1" });
});

test("a claim of devices counts them by class, of alternatives the most for each class", () => {
  const exactly = (deviceClassName: string, more: JsonObject): JsonObject => ({ deviceClassName, ...more });
  const two = { allocationMode: "ExactCount", count: 2 };
  const requests = [
    { name: "a", exactly: exactly("gpu", two) },
    { name: "b", exactly: exactly("gpu", { allocationMode: "ExactCount", count: 1 }) },
    { name: "c", exactly: exactly("nic", { allocationMode: "All" }) },
    { name: "d", firstAvailable: [exactly("fast", two), exactly("fast", { ...two, count: 5 }), exactly("gpu", two)] },
    { name: "e", exactly: exactly("later", { allocationMode: "Other", count: 9 }) },
    { name: "f" },
  ];
  assert.deepEqual(usage("resource.k8s.io", "resourceclaims", { spec: { devices: { requests } } }), {
    "count/resourceclaims.resource.k8s.io": unit,
    "gpu.deviceclass.resource.k8s.io/devices": 5n * unit,
    "nic.deviceclass.resource.k8s.io/devices": 32n * unit,
    "fast.deviceclass.resource.k8s.io/devices": 5n * unit,
    "later.deviceclass.resource.k8s.io/devices": 0n,
  });
});

test("a Service counts its ports of nodes and its load balancer", () => {
  const service = (type: string, more: JsonObject = {}): Record<string, bigint> => {
    const {
      "count/services": _count,
      services: _services,
      ...rest
    } = usage("", "services", { spec: { type, ports: [{ nodePort: 30_000 }, {}], ...more } });
    return rest;
  };
  assert.deepEqual(service("ClusterIP"), {});
  assert.deepEqual(service("NodePort"), { "services.nodeports": 2n * unit });
  assert.deepEqual(service("LoadBalancer"), { "services.loadbalancers": unit, "services.nodeports": 2n * unit });
  assert.deepEqual(service("LoadBalancer", { allocateLoadBalancerNodePorts: false }), {
    "services.loadbalancers": unit,
    "services.nodeports": unit,
  });
});

test("a claim counts with its storage, also for its class", () => {
  const spec = { resources: { requests: { storage: "2Ki" } } };
  const counted = {
    "count/persistentvolumeclaims": unit,
    persistentvolumeclaims: unit,
    "requests.storage": 2048n * unit,
  };
  const ofClass = (name: string): Record<string, bigint> => ({
    ...counted,
    [`${name}.storageclass.storage.k8s.io/requests.storage`]: 2048n * unit,
    [`${name}.storageclass.storage.k8s.io/persistentvolumeclaims`]: unit,
  });
  assert.deepEqual(usage("", "persistentvolumeclaims", { spec }), counted);
  assert.deepEqual(
    usage("", "persistentvolumeclaims", { spec: { ...spec, storageClassName: "fast" } }),
    ofClass("fast"),
  );
  const annotations = { "volume.beta.kubernetes.io/storage-class": "old" };
  assert.deepEqual(
    usage("", "persistentvolumeclaims", { metadata: { annotations }, spec: { ...spec, storageClassName: "fast" } }),
    ofClass("old"),
  );
});

test("amounts are texts, whatever they were written as", () => {
  assert.deepEqual(amountsAt({ a: { cpu: 1, memory: "1Gi", pods: 9007199254740993n } }, ["a"]), {
    cpu: "1",
    memory: "1Gi",
    pods: "9007199254740993",
  });
  assert.deepEqual(amountsAt({ a: [] }, ["a"]), {});
});

/** The keys that one follower of ConfigMaps has seen, and how often it has looked at an object. */
async function following() {
  const store = openStore({ directory: tempDirectory(), codec: objectCodec });
  const write = async (name: string): Promise<void> => {
    await store.write(`//configmaps/a/${name}`, () => ({ action: "put", value: { metadata: { name } } }));
  };
  for (const name of ["a", "b", "c"]) await write(name);
  const known = new Set<string>();
  const looks = { count: 0 };
  const followed = new FollowedObjects(store, "//configmaps/", {
    clear: () => known.clear(),
    add: ({ key }) => {
      looks.count += 1;
      known.add(key.slice("//configmaps/a/".length));
    },
    remove: ({ key }) => known.delete(key.slice("//configmaps/a/".length)),
  });
  const names = (): string => [...known].sort().join("");
  return { store, write, followed, names, looks, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

test("objects are followed one by one, and users who catch up at the same time share the work", async () => {
  await using scene = await following();
  const [one, other] = [scene.followed.catchingUp(), scene.followed.catchingUp()];
  one.next();
  assert.equal(scene.names(), "a");
  other.next();
  assert.equal(scene.names(), "ab");
  finish(one);
  assert.equal(scene.names(), "abc");
  finish(other);
  assert.equal(scene.looks.count, 3);
});

test("catching up at once in the middle has all objects, with the changes since the beginning", async () => {
  await using scene = await following();
  const work = scene.followed.catchingUp();
  work.next();
  await scene.write("d");
  await scene.store.write("//configmaps/a/a", () => ({ action: "delete" }));
  scene.followed.catchUp();
  assert.equal(scene.names(), "bcd");
  finish(work);
  assert.equal(scene.names(), "bcd");
});

test("changes are looked at before anything asks for them", async () => {
  await using scene = await following();
  scene.followed.catchUp();
  await scene.write("d");
  while (scene.names() !== "abcd") await new Promise((resolve) => setImmediate(resolve));
});

test("objects that are no longer followed are not read", async () => {
  await using scene = await following();
  const work = scene.followed.catchingUp();
  work.next();
  scene.followed.close();
  finish(work);
  assert.equal(scene.names(), "a");
});
