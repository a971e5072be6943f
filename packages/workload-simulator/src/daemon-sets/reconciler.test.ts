// SPDX-License-Identifier: Apache-2.0
// DaemonSets over Pods in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { World, workloadSpec } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { daemonSetController } from "./reconciler.ts";

function worldWith(spec: JsonObject = {}, podSpec: JsonObject = {}): World {
  const world = new World();
  world.put(kinds.node, "simulated-node", { metadata: { namespace: null, labels: { zone: "a" } } });
  const base = workloadSpec(spec);
  const template = {
    ...(base["template"] as JsonObject),
    spec: { containers: [{ name: "main", image: "nginx" }], ...podSpec },
  };
  world.put(kinds.daemonSet, "agent", { spec: { ...base, template, ...spec } });
  return world;
}

const step = (world: World) => world.reconcile(daemonSetController, "agent");
const statusOf = (world: World): unknown => world.get(kinds.daemonSet, "agent")["status"];
const onlyPod = (world: World): KubeObject => {
  const [pod, ...others] = world.list(kinds.pod);
  assert.equal(others.length, 0);
  return pod ?? assert.fail("there is no Pod");
};
const ready = {
  conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z", reason: "" }],
};

test("the node gets one Pod, bound to it, that stays when the node is in trouble", async () => {
  const world = worldWith(
    {},
    {
      tolerations: [{ key: "own" }],
      affinity: { podAffinity: {}, nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
    },
  );
  await step(world);
  const pod = onlyPod(world);
  assert.deepEqual(memberAt(pod, ["spec", "affinity"]), {
    podAffinity: {},
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [],
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["simulated-node"] }] }],
      },
    },
  });
  assert.deepEqual(
    objectsAt(pod, ["spec", "tolerations"]).map((one) => `${stringAt(one, ["key"])}:${stringAt(one, ["effect"])}`),
    [
      "own:",
      "node.kubernetes.io/not-ready:NoExecute",
      "node.kubernetes.io/unreachable:NoExecute",
      "node.kubernetes.io/disk-pressure:NoSchedule",
      "node.kubernetes.io/memory-pressure:NoSchedule",
      "node.kubernetes.io/pid-pressure:NoSchedule",
      "node.kubernetes.io/unschedulable:NoSchedule",
    ],
  );
  assert.deepEqual(world.takeEvents(), [`SuccessfulCreate: Created pod: ${pod.metadata.name}`]);
  assert.equal(pod.metadata.labels?.["pod-template-generation"], "1");
});

test("a Pod on the network of its host tolerates that the network is not available", async () => {
  const world = worldWith({}, { hostNetwork: true });
  await step(world);
  assert.deepEqual(objectsAt(onlyPod(world), ["spec", "tolerations"]).at(-1), {
    key: "node.kubernetes.io/network-unavailable",
    operator: "Exists",
    effect: "NoSchedule",
  });
});

test("the status follows the Pod", async () => {
  const world = worldWith({ minReadySeconds: 10 });
  await step(world);
  const base = { currentNumberScheduled: 1, numberMisscheduled: 0, desiredNumberScheduled: 1 };
  const current = { observedGeneration: 1, updatedNumberScheduled: 1 };
  assert.deepEqual(statusOf(world), { ...base, numberReady: 0, ...current, numberUnavailable: 1 });
  world.change(kinds.pod, onlyPod(world).metadata.name ?? "", { status: { phase: "Running", ...ready } });
  assert.deepEqual(await step(world), { requeueAfterMs: 10_000 });
  assert.deepEqual(statusOf(world), { ...base, numberReady: 1, ...current, numberUnavailable: 1 });
  world.now += 10_000;
  assert.deepEqual(await step(world), {});
  assert.deepEqual(statusOf(world), { ...base, numberReady: 1, ...current, numberAvailable: 1 });
  world.takeWrites();
  await step(world);
  assert.deepEqual(world.takeWrites(), []);
});

test("a node that is not selected gets no Pod, and loses the one it has", async () => {
  const world = worldWith({}, { nodeSelector: { zone: "a" } });
  await step(world);
  const { name } = onlyPod(world).metadata;
  world.change(kinds.daemonSet, "agent", { spec: { template: { spec: { nodeSelector: { zone: "b" } } } } });
  world.takeEvents();
  await step(world);
  assert.deepEqual(world.list(kinds.pod), []);
  assert.deepEqual(world.takeEvents(), [`SuccessfulDelete: Deleted pod: ${name}`]);
  assert.deepEqual(statusOf(world), {
    currentNumberScheduled: 0,
    numberMisscheduled: 0,
    desiredNumberScheduled: 0,
    numberReady: 0,
    observedGeneration: 2,
  });
});

test("a changed template replaces the Pod, and the old revision is kept", async () => {
  const world = worldWith();
  await step(world);
  const before = onlyPod(world);
  world.change(kinds.daemonSet, "agent", { spec: { template: { metadata: { labels: { version: "2" } } } } });
  await step(world);
  assert.deepEqual(world.list(kinds.pod), []);
  await step(world);
  const after = onlyPod(world);
  assert.equal(after.metadata.labels?.["pod-template-generation"], "2");
  assert.notEqual(
    after.metadata.labels?.["controller-revision-hash"],
    before.metadata.labels?.["controller-revision-hash"],
  );
  assert.deepEqual(
    world.list(kinds.controllerRevision).map((one) => one["revision"]),
    [1, 2],
  );
});

test("OnDelete leaves the old Pod until it is deleted", async () => {
  const world = worldWith({ updateStrategy: { type: "OnDelete" } });
  await step(world);
  world.change(kinds.daemonSet, "agent", { spec: { template: { metadata: { labels: { version: "2" } } } } });
  await step(world);
  assert.equal(onlyPod(world).metadata.labels?.["version"], undefined);
  assert.equal((statusOf(world) as JsonObject)["updatedNumberScheduled"], undefined);
});

test("a Pod that failed is deleted with a warning, and created again", async () => {
  const world = worldWith();
  await step(world);
  const { name = "" } = onlyPod(world).metadata;
  world.change(kinds.pod, name, { status: { phase: "Failed" } });
  world.takeEvents();
  await step(world);
  assert.deepEqual(world.takeEvents(), [
    `FailedDaemonPod: Found failed daemon pod default/${name} on node simulated-node, will try to kill it`,
  ]);
  await step(world);
  assert.notEqual(onlyPod(world).metadata.name, name);
});

test("revisions beyond the history are deleted, those in use are kept", async () => {
  const world = worldWith({ revisionHistoryLimit: 1 });
  for (const version of ["1", "2", "3", "4"]) {
    world.change(kinds.daemonSet, "agent", { spec: { template: { metadata: { labels: { version } } } } });
    await step(world);
    await step(world);
  }
  assert.deepEqual(
    world.list(kinds.controllerRevision).map((one) => one["revision"]),
    [3, 4],
  );
});
