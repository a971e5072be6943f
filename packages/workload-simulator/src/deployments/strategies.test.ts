// SPDX-License-Identifier: Apache-2.0
// The steps of a Deployment over ReplicaSets in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  annotationOf,
  conditionsOf,
  controllerReference,
  type KubeObject,
  numberAt,
} from "@purlin/kube-objects/object";
import { World, workloadSpec } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { deploymentController } from "./reconciler.ts";

const desired = "deployment.kubernetes.io/desired-replicas";
const most = "deployment.kubernetes.io/max-replicas";
const revision = "deployment.kubernetes.io/revision";

function worldWith(spec: JsonObject): World {
  const world = new World();
  world.put(kinds.deployment, "web", { spec: workloadSpec({ progressDeadlineSeconds: 600, ...spec }) });
  return world;
}

const rolling = (maxSurge: number, maxUnavailable: number): JsonObject => ({
  strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } },
});
const step = (world: World) => world.reconcile(deploymentController, "web");
const image = (name: string) => ({ spec: { template: { spec: { containers: [{ name: "main", image: name }] } } } });

/** Sizes of the ReplicaSets, oldest first. */
const sizes = (world: World): readonly number[] =>
  world.list(kinds.replicaSet).map((set) => numberAt(set, ["spec", "replicas"]));

/** Makes all Pods that ReplicaSets want exist and serve. */
function serve(world: World, isServing: (set: KubeObject) => boolean = () => true): void {
  for (const set of world.list(kinds.replicaSet)) {
    const replicas = numberAt(set, ["spec", "replicas"]);
    const serving = isServing(set) ? replicas : 0;
    const status = {
      replicas,
      readyReplicas: serving,
      availableReplicas: serving,
      observedGeneration: set.metadata.generation ?? 1,
    };
    world.change(kinds.replicaSet, set.metadata.name ?? "", { status });
  }
}

test("a new Deployment creates its ReplicaSet with all it needs", async () => {
  const world = worldWith({ replicas: 3, minReadySeconds: 5, ...rolling(1, 0) });
  world.change(kinds.deployment, "web", {
    metadata: { annotations: { team: "a", "kubectl.kubernetes.io/last-applied-configuration": "{}" } },
  });
  await step(world);
  const [set] = world.list(kinds.replicaSet);
  assert.ok(set);
  const hash = set.metadata.labels?.["pod-template-hash"] ?? "";
  assert.equal(set.metadata.name, `web-${hash}`);
  assert.deepEqual(set.metadata.annotations, {
    team: "a",
    [revision]: "1",
    [desired]: "3",
    [most]: "4",
    "purlin.dev/simulated": "true",
  });
  assert.deepEqual(set.metadata.ownerReferences, [controllerReference(world.get(kinds.deployment, "web"))]);
  const labels = { app: "web", "pod-template-hash": hash };
  const { template, ...spec } = set["spec"] as JsonObject & { template: JsonObject };
  assert.deepEqual(spec, { replicas: 3, minReadySeconds: 5, selector: { matchLabels: labels } });
  assert.deepEqual((template["metadata"] as JsonObject)["labels"], labels);
  assert.deepEqual(world.takeEvents(), [`ScalingReplicaSet: Scaled up replica set web-${hash} from 0 to 3`]);
  const [condition] = conditionsOf(world.get(kinds.deployment, "web"));
  assert.equal(condition?.message, `Created new replica set "web-${hash}"`);
});

test("a Deployment that is in order is not written", async () => {
  const world = worldWith({ replicas: 2, ...rolling(1, 0) });
  await step(world);
  serve(world);
  await step(world);
  assert.equal(annotationOf(world.get(kinds.deployment, "web"), revision), "1");
  world.takeWrites();
  assert.deepEqual(await step(world), {});
  assert.deepEqual(world.takeWrites(), []);
});

test("a rolling update goes up and down within its bounds", async () => {
  const world = worldWith({ replicas: 4, ...rolling(1, 1) });
  await step(world);
  serve(world);
  await step(world);
  world.change(kinds.deployment, "web", image("nginx:2"));
  const seen: (readonly number[])[] = [];
  for (let round = 0; round < 12; round++) {
    await step(world);
    seen.push(sizes(world));
    serve(world);
  }
  for (const [old = 0, fresh = 0] of seen) {
    assert.ok(old + fresh <= 5, `${old} and ${fresh} are more than the surge allows`);
    assert.ok(old + fresh >= 3, `${old} and ${fresh} are fewer than may lack`);
  }
  assert.deepEqual(seen.at(-1), [0, 4]);
  assert.deepEqual(seen[0], [3, 1]);
});

test("an old Pod goes only when a new one serves", async () => {
  const world = worldWith({ replicas: 2, ...rolling(1, 0) });
  await step(world);
  serve(world);
  await step(world);
  world.change(kinds.deployment, "web", image("nginx:2"));
  const isOld = (set: KubeObject): boolean => annotationOf(set, revision) === "1";
  for (let round = 0; round < 4; round++) {
    await step(world);
    serve(world, isOld);
  }
  assert.deepEqual(sizes(world), [2, 1]);
  serve(world);
  await step(world);
  assert.deepEqual(sizes(world), [1, 1]);
});

test("old Pods that do not serve are given up, but no more than new ones that do not serve allow", async () => {
  const world = worldWith({ replicas: 3, ...rolling(1, 1) });
  await step(world);
  serve(world, () => false);
  world.change(kinds.deployment, "web", image("nginx:2"));
  await step(world);
  assert.deepEqual(sizes(world), [2, 1]);
  for (let round = 0; round < 3; round++) {
    serve(world, () => false);
    await step(world);
  }
  assert.deepEqual(sizes(world), [2, 2]);
});

test("a template that was used before takes its ReplicaSet again, with the next revision", async () => {
  const world = worldWith({ replicas: 1, ...rolling(1, 0) });
  await step(world);
  serve(world);
  world.change(kinds.deployment, "web", image("nginx:2"));
  for (let round = 0; round < 4; round++) {
    await step(world);
    serve(world);
  }
  world.change(kinds.deployment, "web", image("nginx:1"));
  for (let round = 0; round < 4; round++) {
    await step(world);
    serve(world);
  }
  assert.deepEqual(sizes(world), [1, 0]);
  const [first, second] = world.list(kinds.replicaSet);
  assert.equal(first && annotationOf(first, revision), "3");
  assert.equal(first && annotationOf(first, "deployment.kubernetes.io/revision-history"), "1");
  assert.equal(second && annotationOf(second, revision), "2");
  assert.equal(annotationOf(world.get(kinds.deployment, "web"), revision), "3");
});

test("Recreate waits until no Pod of an old ReplicaSet is left", async () => {
  const world = worldWith({ replicas: 2, strategy: { type: "Recreate" } });
  await step(world);
  serve(world);
  const [old] = world.list(kinds.replicaSet);
  assert.ok(old);
  world.put(kinds.pod, "last", {
    metadata: { ownerReferences: [controllerReference(old) as never] },
    status: { phase: "Running" },
  });
  world.change(kinds.deployment, "web", image("nginx:2"));
  await step(world);
  assert.deepEqual(sizes(world), [0]);
  serve(world);
  await step(world);
  assert.deepEqual(sizes(world), [0], "a Pod still runs");
  world.change(kinds.pod, "last", { status: { phase: "Succeeded" } });
  await step(world);
  assert.deepEqual(sizes(world), [0, 2]);
});

test("the only active ReplicaSet takes a new size", async () => {
  const world = worldWith({ replicas: 2, ...rolling(1, 0) });
  await step(world);
  serve(world);
  world.takeEvents();
  world.change(kinds.deployment, "web", { spec: { replicas: 5 } });
  await step(world);
  const [set] = world.list(kinds.replicaSet);
  assert.deepEqual(sizes(world), [5]);
  assert.equal(set && annotationOf(set, desired), "5");
  assert.equal(set && annotationOf(set, most), "6");
  assert.deepEqual(world.takeEvents(), [`ScalingReplicaSet: Scaled up replica set ${set?.metadata.name} from 2 to 5`]);
});

test("several ReplicaSets share a new size in proportion", async () => {
  const world = worldWith({ replicas: 10, ...rolling(0, 2) });
  await step(world);
  serve(world);
  await step(world);
  world.change(kinds.deployment, "web", image("nginx:2"));
  await step(world);
  serve(world, (set) => annotationOf(set, revision) === "1");
  await step(world);
  assert.deepEqual(sizes(world), [8, 2]);
  world.change(kinds.deployment, "web", { spec: { replicas: 20 } });
  await step(world);
  assert.deepEqual(sizes(world), [16, 4]);
  world.change(kinds.deployment, "web", { spec: { replicas: 5 } });
  await step(world);
  assert.deepEqual(sizes(world), [4, 1]);
  world.change(kinds.deployment, "web", { spec: { replicas: 0 } });
  await step(world);
  assert.deepEqual(sizes(world), [0, 0]);
});

test("a paused Deployment follows its size and creates no ReplicaSet", async () => {
  const world = worldWith({ replicas: 1, paused: true, ...rolling(1, 0) });
  await step(world);
  assert.deepEqual(world.list(kinds.replicaSet), []);
  const paused = world.get(kinds.deployment, "web");
  const condition = conditionsOf(paused).find(({ type }) => type === "Progressing");
  assert.deepEqual(
    [condition?.status, condition?.reason, condition?.message],
    ["Unknown", "DeploymentPaused", "Deployment is paused"],
  );
  world.change(kinds.deployment, "web", { spec: { paused: false } });
  await step(world);
  assert.deepEqual(sizes(world), [1]);
});

test("old ReplicaSets beyond the history are deleted, the oldest first", async () => {
  const world = worldWith({ replicas: 1, revisionHistoryLimit: 1, ...rolling(1, 0) });
  for (const name of ["nginx:1", "nginx:2", "nginx:3"]) {
    world.change(kinds.deployment, "web", image(name));
    world.now += 60_000;
    for (let round = 0; round < 5; round++) {
      await step(world);
      serve(world);
    }
  }
  assert.deepEqual(
    world.list(kinds.replicaSet).map((set) => annotationOf(set, revision)),
    ["2", "3"],
  );
});

test("a Deployment that selects everything does nothing", async () => {
  const world = worldWith({ replicas: 1, selector: {} });
  await step(world);
  assert.deepEqual(world.takeEvents(), [
    "SelectingAll: This deployment is selecting all pods. A non-empty selector is required.",
  ]);
  assert.deepEqual(world.list(kinds.replicaSet), []);
  assert.equal(numberAt(world.get(kinds.deployment, "web"), ["status", "observedGeneration"]), 1);
});

test("a ReplicaSet that cannot be created is reported", async () => {
  const world = worldWith({ replicas: 1, ...rolling(1, 0) });
  world.failure = new Error("exceeded quota");
  await assert.rejects(step(world), { message: "exceeded quota" });
});

test("a ReplicaSet without an owner that matches is adopted, one that no longer matches is released", async () => {
  const world = worldWith({ replicas: 1, ...rolling(1, 0) });
  const template = (world.get(kinds.deployment, "web")["spec"] as JsonObject)["template"] as JsonObject;
  world.put(kinds.replicaSet, "orphan", { metadata: { labels: { app: "web" } }, spec: { replicas: 1, template } });
  await step(world);
  const adopted = world.get(kinds.replicaSet, "orphan");
  assert.equal(adopted.metadata.ownerReferences?.[0]?.name, "web");
  assert.equal(world.list(kinds.replicaSet).length, 1);
  world.change(kinds.replicaSet, "orphan", { metadata: { labels: { app: "other" } } });
  await step(world);
  assert.deepEqual(world.get(kinds.replicaSet, "orphan").metadata.ownerReferences, []);
  assert.equal(world.list(kinds.replicaSet).length, 2);
});
