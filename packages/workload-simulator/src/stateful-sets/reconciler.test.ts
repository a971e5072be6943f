// SPDX-License-Identifier: Apache-2.0
// StatefulSets over Pods in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { World, workloadSpec } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { statefulSetController } from "./reconciler.ts";

function worldWith(spec: JsonObject): World {
  const world = new World();
  world.put(kinds.statefulSet, "db", { spec: workloadSpec({ serviceName: "peers", ...spec }) });
  return world;
}

const step = (world: World) => world.reconcile(statefulSetController, "db");
const names = (world: World): readonly string[] =>
  world
    .list(kinds.pod)
    .map(({ metadata }) => metadata.name ?? "")
    .sort();
const statusOf = (world: World): JsonObject => world.get(kinds.statefulSet, "db")["status"] as JsonObject;

/** Makes Pods run and serve. */
function serve(world: World, ...only: readonly string[]): void {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  for (const name of only.length > 0 ? only : names(world)) {
    const conditions = [{ type: "Ready", status: "True", lastTransitionTime, reason: "" }];
    world.change(kinds.pod, name, { status: { phase: "Running", conditions } });
  }
}

async function rounds(world: World, count: number): Promise<void> {
  for (let round = 0; round < count; round++) {
    await step(world);
    serve(world);
  }
}

test("Pods are created in their order, each after the one before it serves", async () => {
  const world = worldWith({ replicas: 3 });
  await step(world);
  assert.deepEqual(names(world), ["db-0"]);
  await step(world);
  assert.deepEqual(names(world), ["db-0"]);
  serve(world);
  await step(world);
  assert.deepEqual(names(world), ["db-0", "db-1"]);
  await rounds(world, 2);
  assert.deepEqual(names(world), ["db-0", "db-1", "db-2"]);
  assert.deepEqual(
    world.takeEvents(),
    [0, 1, 2].map((at) => `SuccessfulCreate: create Pod db-${at} in StatefulSet db successful`),
  );
});

test("a Pod has a name, a host name and labels by its ordinal", async () => {
  const world = worldWith({ replicas: 1, ordinals: { start: 5 } });
  await step(world);
  const pod = world.get(kinds.pod, "db-5");
  assert.equal(stringAt(pod, ["spec", "hostname"]), "db-5");
  assert.equal(stringAt(pod, ["spec", "subdomain"]), "peers");
  assert.equal(pod.metadata.labels?.["statefulset.kubernetes.io/pod-name"], "db-5");
  assert.equal(pod.metadata.labels?.["apps.kubernetes.io/pod-index"], "5");
  assert.equal(pod.metadata.labels?.["controller-revision-hash"], statusOf(world)["updateRevision"]);
});

test("Pods that are managed in parallel are created at once", async () => {
  const world = worldWith({ replicas: 3, podManagementPolicy: "Parallel" });
  await step(world);
  assert.deepEqual(names(world), ["db-0", "db-1", "db-2"]);
  world.change(kinds.statefulSet, "db", { spec: { replicas: 1 } });
  serve(world);
  await step(world);
  assert.deepEqual(names(world), ["db-0"]);
});

test("Pods are deleted from the last one down, one at a time", async () => {
  const world = worldWith({ replicas: 3 });
  await rounds(world, 4);
  world.change(kinds.statefulSet, "db", { spec: { replicas: 1 } });
  await step(world);
  assert.deepEqual(names(world), ["db-0", "db-1"]);
  await step(world);
  assert.deepEqual(names(world), ["db-0"]);
});

test("claims are created before the Pod, and used again", async () => {
  const template = { metadata: { name: "data", labels: { tier: "x" } }, spec: { accessModes: ["ReadWriteOnce"] } };
  const world = worldWith({ replicas: 1, volumeClaimTemplates: [template] });
  await step(world);
  const claim = world.get(kinds.claim, "data-db-0");
  assert.deepEqual(claim.metadata.labels, { tier: "x", app: "web" });
  assert.deepEqual(claim["spec"], { accessModes: ["ReadWriteOnce"] });
  assert.deepEqual(memberAt(world.get(kinds.pod, "db-0"), ["spec", "volumes"]), [
    { name: "data", persistentVolumeClaim: { claimName: "data-db-0" } },
  ]);
  assert.deepEqual(
    world.takeWrites().filter((write) => write.startsWith("create")),
    [
      `create ControllerRevision ${String(statusOf(world)["updateRevision"])}`,
      "create PersistentVolumeClaim data-db-0",
      "create Pod db-0",
    ],
  );
  assert.deepEqual(world.takeEvents(), [
    "SuccessfulCreate: create Claim data-db-0 Pod db-0 in StatefulSet db success",
    "SuccessfulCreate: create Pod db-0 in StatefulSet db successful",
  ]);
  world.change(kinds.pod, "db-0", { status: { phase: "Failed" } });
  await step(world);
  await step(world);
  assert.equal(world.list(kinds.claim).length, 1);
});

test("a Pod that ended is deleted and created again", async () => {
  const world = worldWith({ replicas: 1 });
  await step(world);
  world.change(kinds.pod, "db-0", { status: { phase: "Succeeded" } });
  await step(world);
  assert.deepEqual(names(world), []);
  await step(world);
  assert.deepEqual(names(world), ["db-0"]);
});

const newTemplate = { spec: { template: { metadata: { labels: { version: "2" } } } } };
const versions = (world: World): readonly (string | undefined)[] =>
  names(world).map((name) => world.get(kinds.pod, name).metadata.labels?.["version"]);

test("an update replaces Pods from the last one down, each after the one before serves", async () => {
  const world = worldWith({ replicas: 3 });
  await rounds(world, 4);
  const old = statusOf(world)["currentRevision"];
  world.change(kinds.statefulSet, "db", newTemplate);
  await step(world);
  assert.deepEqual(names(world), ["db-0", "db-1"]);
  await step(world);
  assert.deepEqual(versions(world), [undefined, undefined, "2"]);
  await step(world);
  assert.deepEqual(versions(world), [undefined, undefined, "2"], "the new Pod does not serve yet");
  assert.equal(statusOf(world)["currentRevision"], old);
  assert.equal(statusOf(world)["updatedReplicas"], 1);
  await rounds(world, 7);
  assert.deepEqual(versions(world), ["2", "2", "2"]);
  await step(world);
  assert.equal(statusOf(world)["currentRevision"], statusOf(world)["updateRevision"]);
  assert.notEqual(statusOf(world)["currentRevision"], old);
});

test("Pods below the partition keep the old revision, also when they are created again", async () => {
  const world = worldWith({ replicas: 3, updateStrategy: { rollingUpdate: { partition: 2 } } });
  await rounds(world, 4);
  world.change(kinds.statefulSet, "db", newTemplate);
  await rounds(world, 6);
  assert.deepEqual(versions(world), [undefined, undefined, "2"]);
  world.change(kinds.pod, "db-0", { status: { phase: "Failed" } });
  await rounds(world, 3);
  assert.deepEqual(versions(world), [undefined, undefined, "2"]);
});

test("OnDelete replaces Pods only after they are deleted", async () => {
  const world = worldWith({ replicas: 2, updateStrategy: { type: "OnDelete" } });
  await rounds(world, 3);
  world.change(kinds.statefulSet, "db", newTemplate);
  await rounds(world, 3);
  assert.deepEqual(versions(world), [undefined, undefined]);
  await world.deps.client.delete({ ...kinds.pod, name: "db-1", namespace: "default" });
  await rounds(world, 2);
  assert.deepEqual(versions(world), [undefined, "2"]);
});

test("the next Pod waits until the one before was ready for long enough", async () => {
  const world = worldWith({ replicas: 2, minReadySeconds: 30 });
  await step(world);
  serve(world);
  assert.deepEqual(await step(world), { requeueAfterMs: 30_000 });
  assert.deepEqual(names(world), ["db-0"]);
  world.now += 30_000;
  await step(world);
  assert.deepEqual(names(world), ["db-0", "db-1"]);
});

test("the status counts Pods", async () => {
  const world = worldWith({ replicas: 2 });
  await rounds(world, 3);
  await step(world);
  const revision = statusOf(world)["updateRevision"];
  assert.deepEqual(statusOf(world), {
    observedGeneration: 1,
    replicas: 2,
    readyReplicas: 2,
    currentReplicas: 2,
    updatedReplicas: 2,
    currentRevision: revision,
    updateRevision: revision,
    collisionCount: 0,
    availableReplicas: 2,
  });
  world.takeWrites();
  await step(world);
  assert.deepEqual(world.takeWrites(), []);
});

test("a Pod that cannot be created is reported", async () => {
  const world = worldWith({ replicas: 1 });
  await rounds(world, 2);
  world.change(kinds.pod, "db-0", { status: { phase: "Failed" } });
  await step(world);
  world.takeEvents();
  world.failure = new Error("exceeded quota");
  await assert.rejects(step(world), { message: "exceeded quota" });
  assert.deepEqual(world.takeEvents(), [
    "FailedCreate: create Pod db-0 in StatefulSet db failed error: exceeded quota",
  ]);
});
