// SPDX-License-Identifier: Apache-2.0
// ReplicaSets over Pods in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, conditionTime, controllerReference, type KubeObject } from "@purlin/kube-objects/object";
import { World, workloadSpec } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { replicaSetController, replicationController } from "./reconciler.ts";

function worldWith(spec: JsonObject): World {
  const world = new World();
  world.put(kinds.replicaSet, "web", { spec: workloadSpec(spec) });
  return world;
}

const step = (world: World) => world.reconcile(replicaSetController, "web");
const names = (world: World): readonly string[] => world.list(kinds.pod).map(({ metadata }) => metadata.name ?? "");
const statusOf = (world: World): unknown => world.get(kinds.replicaSet, "web")["status"];

interface PodOptions {
  readonly ready?: number;
  readonly phase?: string;
  readonly isScheduled?: boolean;
  readonly restarts?: number;
  readonly age?: number;
  readonly cost?: string;
}

/** A Pod of the ReplicaSet, ready for some seconds. */
function addPod(world: World, name: string, options: PodOptions = {}): void {
  const { ready, phase = "Running", isScheduled = true, restarts = 0, age = 100, cost } = options;
  const since = conditionTime(world.now - (ready ?? 0) * 1000);
  const conditions = [
    { type: "Ready", status: ready === undefined ? "False" : "True", lastTransitionTime: since, reason: "" },
  ];
  world.put(kinds.pod, name, {
    metadata: {
      labels: { app: "web" },
      creationTimestamp: conditionTime(world.now - age * 1000),
      ownerReferences: [controllerReference(world.get(kinds.replicaSet, "web")) as never],
      ...(cost !== undefined && { annotations: { "controller.kubernetes.io/pod-deletion-cost": cost } }),
    },
    spec: { ...(isScheduled && { nodeName: "n" }) },
    status: { phase, conditions, containerStatuses: [{ restartCount: restarts }] },
  });
}

test("Pods are created until there are enough", async () => {
  const world = worldWith({ replicas: 2 });
  await step(world);
  const pods = world.list(kinds.pod);
  assert.equal(pods.length, 2);
  assert.ok(pods.every(({ metadata }) => metadata.name?.startsWith("web-") && metadata.labels?.["app"] === "web"));
  assert.deepEqual(
    world.takeEvents(),
    names(world).map((name) => `SuccessfulCreate: Created pod: ${name}`),
  );
  assert.deepEqual(statusOf(world), {
    observedGeneration: 1,
    replicas: 2,
    fullyLabeledReplicas: 2,
    terminatingReplicas: 0,
  });
  world.takeWrites();
  await step(world);
  assert.deepEqual(world.takeWrites(), []);
});

test("other work runs between the Pods whose labels are compared with those of the template", async () => {
  const world = worldWith({ replicas: 5 });
  const labels = { app: "web", tier: "t" };
  world.change(kinds.replicaSet, "web", { spec: { template: { metadata: { labels } } } });
  let turn = 0;
  const turns = new Set<number>();
  const next = (): void => {
    turn += 1;
  };
  // As long as a turn may take.
  const compared = (): string => {
    const until = performance.now() + 15;
    while (performance.now() < until);
    turns.add(turn);
    setImmediate(next);
    return "t";
  };
  for (let index = 0; index < 5; index++) {
    addPod(world, `p${index}`, { ready: 1 });
    const own = world.get(kinds.pod, `p${index}`).metadata.labels ?? {};
    Object.defineProperty(own, "tier", { get: compared, enumerable: true });
  }
  await step(world);
  assert.equal((statusOf(world) as JsonObject)["fullyLabeledReplicas"], 5);
  assert.ok(turns.size >= 3, `5 Pods in ${turns.size} turns`);
});

test("more than 500 Pods are created in several reconciles", async () => {
  const world = worldWith({ replicas: 520 });
  assert.deepEqual(await step(world), { requeueAfterMs: 1 });
  assert.equal(world.list(kinds.pod).length, 500);
  assert.deepEqual(await step(world), {});
  assert.equal(world.list(kinds.pod).length, 520);
});

const order: readonly { readonly why: string; readonly first: PodOptions; readonly last: PodOptions }[] = [
  { why: "not scheduled", first: { isScheduled: false, ready: 50 }, last: { ready: 50 } },
  { why: "pending", first: { phase: "Pending", ready: 50 }, last: { ready: 50 } },
  { why: "not ready", first: {}, last: { ready: 50 } },
  { why: "cheaper to delete", first: { ready: 50, cost: "-5" }, last: { ready: 50 } },
  { why: "cheaper to delete than another", first: { ready: 50 }, last: { ready: 50, cost: "10" } },
  { why: "ready for a shorter time", first: { ready: 5 }, last: { ready: 5000 } },
  { why: "restarted more often", first: { ready: 50, restarts: 5 }, last: { ready: 50, restarts: 1 } },
  { why: "younger", first: { ready: 50, age: 60 }, last: { ready: 50, age: 6000 } },
];

for (const { why, first, last } of order) {
  test(`when a ReplicaSet shrinks, a Pod goes first that is ${why}`, async () => {
    for (const [a, b] of [
      [first, last],
      [last, first],
    ] as const) {
      const world = worldWith({ replicas: 1 });
      addPod(world, "a", a);
      addPod(world, "b", b);
      await step(world);
      assert.deepEqual(names(world), [a === first ? "b" : "a"]);
    }
  });
}

test("Pods that ended do not count, and Pods that are being deleted are reported", async () => {
  const world = worldWith({ replicas: 1 });
  addPod(world, "done", { phase: "Failed" });
  addPod(world, "leaving", { ready: 5 });
  world.change(kinds.pod, "leaving", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });
  await step(world);
  assert.equal(world.list(kinds.pod).length, 3);
  assert.deepEqual(statusOf(world), {
    observedGeneration: 1,
    replicas: 1,
    fullyLabeledReplicas: 1,
    terminatingReplicas: 1,
  });
});

test("the status counts Pods that are ready, and those that are for long enough", async () => {
  const world = worldWith({ replicas: 3, minReadySeconds: 30 });
  addPod(world, "a", { ready: 30 });
  addPod(world, "b", { ready: 20 });
  addPod(world, "c");
  assert.deepEqual(await step(world), { requeueAfterMs: 10_000 });
  assert.deepEqual(statusOf(world), {
    observedGeneration: 1,
    replicas: 3,
    fullyLabeledReplicas: 3,
    readyReplicas: 2,
    availableReplicas: 1,
    terminatingReplicas: 0,
  });
});

test("a Pod that cannot be created is a condition until it can", async () => {
  const world = worldWith({ replicas: 2 });
  const create = world.deps.client.create.bind(world.deps.client);
  let isFull = true;
  Object.assign(world.deps.client, {
    create: (object: KubeObject) => (isFull ? Promise.reject(new Error("exceeded quota")) : create(object)),
  });
  assert.deepEqual(await step(world), { requeue: true });
  const events = world.takeEvents();
  assert.deepEqual([...new Set(events)], ["FailedCreate: Error creating: exceeded quota"]);
  const [condition] = conditionsOf(world.get(kinds.replicaSet, "web"));
  assert.deepEqual(
    [condition?.type, condition?.status, condition?.reason, condition?.message],
    ["ReplicaFailure", "True", "FailedCreate", "exceeded quota"],
  );
  isFull = false;
  await step(world);
  assert.deepEqual(conditionsOf(world.get(kinds.replicaSet, "web")), []);
  assert.equal(world.list(kinds.pod).length, 2);
});

test("a ReplicaSet that is being deleted creates and deletes nothing", async () => {
  const world = worldWith({ replicas: 2 });
  world.change(kinds.replicaSet, "web", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });
  await step(world);
  assert.deepEqual(world.list(kinds.pod), []);
});

test("a Pod whose labels no longer match is released and replaced", async () => {
  const world = worldWith({ replicas: 1 });
  addPod(world, "a", { ready: 5 });
  world.change(kinds.pod, "a", { metadata: { labels: { app: "debug" } } });
  await step(world);
  assert.deepEqual(world.get(kinds.pod, "a").metadata.ownerReferences, []);
  assert.equal(world.list(kinds.pod).length, 2);
});

test("a ReplicationController selects by a map of labels", async () => {
  const world = new World();
  const { template } = workloadSpec();
  world.put(kinds.replicationController, "web", {
    spec: { replicas: 1, selector: { app: "web" }, template: template ?? null },
  });
  world.put(kinds.pod, "orphan", { metadata: { labels: { app: "web" } }, spec: {}, status: { phase: "Running" } });
  await world.reconcile(replicationController, "web");
  assert.deepEqual(names(world), ["orphan"]);
  assert.equal(world.get(kinds.pod, "orphan").metadata.ownerReferences?.[0]?.kind, "ReplicationController");
});
