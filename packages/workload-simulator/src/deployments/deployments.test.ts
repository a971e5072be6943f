// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import { annotationOf, conditionsOf, type KubeObject, numberAt, stringAt } from "@purlin/kube-objects/object";
import { startScene, workloadSpec } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { isComplete } from "./rollout.ts";

const isRolledOut = (deployment: KubeObject): boolean =>
  isComplete(deployment, deployment["status"] as never) &&
  reasonOf(deployment, "Progressing") === "NewReplicaSetAvailable";
const reasonOf = (object: KubeObject, type: string): string | undefined =>
  conditionsOf(object).find((condition) => condition.type === type)?.reason;
const image = (name: string) => ({ spec: { template: { spec: { containers: [{ name: "main", image: name }] } } } });

test("a Deployment becomes available, and everything created for it says that it is simulated", async () => {
  await using scene = await startScene();
  await scene.create(kinds.deployment, "web", { spec: workloadSpec({ replicas: 3 }) });
  const deployment = await scene.until(kinds.deployment, "web", isRolledOut);
  assert.equal(annotationOf(deployment, "deployment.kubernetes.io/revision"), "1");
  assert.deepEqual(
    conditionsOf(deployment).map(({ type, status }) => [type, status]),
    [
      ["Available", "True"],
      ["Progressing", "True"],
    ],
  );
  const [sets, pods] = [await scene.list(kinds.replicaSet), await scene.list(kinds.pod)];
  assert.equal(sets.length, 1);
  assert.equal(pods.length, 3);
  for (const object of [...sets, ...pods]) assert.equal(annotationOf(object, "purlin.dev/simulated"), "true");
  assert.equal(new Set(pods.map((pod) => stringAt(pod, ["status", "podIP"]))).size, 3, "each Pod has its own address");
});

test("a rolling update replaces the Pods, keeps the old ReplicaSet, and can be undone", async () => {
  await using scene = await startScene();
  await scene.create(kinds.deployment, "web", { spec: workloadSpec({ replicas: 4 }) });
  await scene.until(kinds.deployment, "web", isRolledOut);
  await scene.patch(kinds.deployment, "web", image("nginx:2"));
  await scene.until(kinds.deployment, "web", isRolledOut);
  const images = (await scene.list(kinds.pod)).map(
    (pod) => (pod["spec"] as { containers: { image: string }[] }).containers[0]?.image,
  );
  assert.deepEqual(images, ["nginx:2", "nginx:2", "nginx:2", "nginx:2"]);
  assert.deepEqual(
    (await scene.list(kinds.replicaSet)).map((set) => numberAt(set, ["spec", "replicas"])).sort(),
    [0, 4],
  );
  await scene.patch(kinds.deployment, "web", image("nginx:1"));
  const undone = await scene.until(
    kinds.deployment,
    "web",
    (one) => isRolledOut(one) && annotationOf(one, "deployment.kubernetes.io/revision") === "3",
  );
  assert.equal((await scene.list(kinds.replicaSet)).length, 2, "the ReplicaSet of the first revision is used again");
  assert.ok((await scene.reasons(undone)).every((reason) => reason === "ScalingReplicaSet"));
});

test("Recreate starts no new Pod before the old ones are gone", async () => {
  await using scene = await startScene();
  await scene.create(kinds.deployment, "web", { spec: workloadSpec({ replicas: 2, strategy: { type: "Recreate" } }) });
  await scene.until(kinds.deployment, "web", isRolledOut);
  await scene.patch(kinds.deployment, "web", image("nginx:2"));
  await scene.until(
    kinds.deployment,
    "web",
    (one) =>
      isRolledOut(one) &&
      one.metadata.generation === numberAt(one, ["status", "observedGeneration"]) &&
      annotationOf(one, "deployment.kubernetes.io/revision") === "2",
  );
  assert.equal((await scene.list(kinds.pod)).length, 2);
});

test("a rollout whose image cannot be pulled keeps the old Pods and exceeds its deadline", async () => {
  await using scene = await startScene();
  await scene.create(kinds.deployment, "web", { spec: workloadSpec({ replicas: 2, progressDeadlineSeconds: 1 }) });
  await scene.until(kinds.deployment, "web", isRolledOut);
  await scene.client.create({
    ...kinds.simulation,
    metadata: { name: "broken" },
    spec: { match: { images: ["*:broken"] }, outcome: "ImagePullBackOff" },
  });
  await scene.patch(kinds.deployment, "web", image("nginx:broken"));
  const stuck = await scene.until(
    kinds.deployment,
    "web",
    (one) => reasonOf(one, "Progressing") === "ProgressDeadlineExceeded",
  );
  assert.equal(numberAt(stuck, ["status", "availableReplicas"]), 2);
  assert.equal(reasonOf(stuck, "Available"), "MinimumReplicasAvailable");
});

test("a change that concerns no controller causes no write", async () => {
  await using scene = await startScene();
  await scene.create(kinds.deployment, "web", { spec: workloadSpec({ replicas: 2 }) });
  await scene.until(kinds.deployment, "web", isRolledOut);
  const [pod] = await scene.list(kinds.pod);
  await scene.patch(kinds.pod, pod?.metadata.name ?? "", { metadata: { annotations: { note: "seen" } } });
  scene.takeWrites();
  // What is created later is done later: when it is done, the change has been seen.
  await scene.create(kinds.deployment, "other", {
    spec: workloadSpec({ replicas: 1, selector: { matchLabels: { app: "web" } } }),
  });
  await scene.until(kinds.deployment, "other", isRolledOut);
  assert.deepEqual(
    scene.takeWrites().filter((write) => write.includes("/web") && !write.includes("/events")),
    [],
  );
});

test("a paused Deployment is scaled, but not rolled out before it is resumed", async () => {
  await using scene = await startScene();
  await scene.create(kinds.deployment, "web", { spec: workloadSpec({ replicas: 1 }) });
  await scene.until(kinds.deployment, "web", isRolledOut);
  await scene.patch(kinds.deployment, "web", { spec: { paused: true } });
  await scene.until(kinds.deployment, "web", (one) => reasonOf(one, "Progressing") === "DeploymentPaused");
  await scene.patch(kinds.deployment, "web", image("nginx:2"));
  await scene.patch(kinds.deployment, "web", { spec: { replicas: 2 } });
  await scene.until(kinds.deployment, "web", (one) => numberAt(one, ["status", "availableReplicas"]) === 2);
  assert.equal((await scene.list(kinds.replicaSet)).length, 1);
  await scene.patch(kinds.deployment, "web", { spec: { paused: false } });
  await scene.until(
    kinds.deployment,
    "web",
    (one) => isRolledOut(one) && numberAt(one, ["status", "updatedReplicas"]) === 2,
  );
  assert.equal((await scene.list(kinds.replicaSet)).length, 2);
});

test("a Deployment shrinks to nothing and grows again", async () => {
  await using scene = await startScene();
  await scene.create(kinds.deployment, "web", { spec: workloadSpec({ replicas: 3 }) });
  for (const replicas of [1, 0, 2]) {
    await scene.patch(kinds.deployment, "web", { spec: { replicas } });
    await scene.until(kinds.deployment, "web", (one) => isComplete(one, one["status"] as never));
    await eventually(`${replicas} Pods`, async () => (await scene.list(kinds.pod)).length === replicas);
  }
});
