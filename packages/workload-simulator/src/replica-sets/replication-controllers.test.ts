// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import { controllerOf, type KubeObject, numberAt, objectAt } from "@purlin/kube-objects/object";
import { startScene, workloadSpec } from "../../test/world.ts";
import { kinds } from "../kinds.ts";

const labels = { app: "web" };
const available = (count: number) => (one: KubeObject) => numberAt(one, ["status", "availableReplicas"]) === count;

test("a ReplicationController has as many Pods as it asks for", async () => {
  await using scene = await startScene();
  const spec = workloadSpec({ replicas: 2, selector: labels });
  await scene.create(kinds.replicationController, "web", { spec });
  const ready = await scene.until(kinds.replicationController, "web", available(2));
  assert.deepEqual(objectAt(ready, ["status"]), {
    replicas: 2,
    fullyLabeledReplicas: 2,
    readyReplicas: 2,
    availableReplicas: 2,
    observedGeneration: 1,
  });
  const pods = await scene.list(kinds.pod);
  assert.deepEqual(
    pods.map((pod) => controllerOf(pod)?.kind),
    ["ReplicationController", "ReplicationController"],
  );
  assert.deepEqual(await scene.reasons(ready), ["SuccessfulCreate", "SuccessfulCreate"]);
  await scene.patch(kinds.replicationController, "web", { spec: { replicas: 1 } });
  await scene.until(kinds.replicationController, "web", available(1));
});

test("a ReplicationController adopts Pods by its map of labels, and only those", async () => {
  await using scene = await startScene();
  const containers = [{ name: "main", image: "nginx:1" }];
  const podOf = (name: string, app: string): KubeObject => ({
    ...kinds.pod,
    metadata: { name, namespace: "default", labels: { app } },
    spec: { containers },
  });
  await scene.client.create(podOf("own", "web"));
  await scene.client.create(podOf("other", "db"));
  await scene.create(kinds.replicationController, "web", { spec: workloadSpec({ replicas: 1, selector: labels }) });
  await scene.until(kinds.replicationController, "web", available(1));
  await eventually("the Pod is adopted", async () => controllerOf(await scene.get(kinds.pod, "own"))?.name === "web");
  assert.equal(controllerOf(await scene.get(kinds.pod, "other")), undefined);
  assert.equal((await scene.list(kinds.pod)).length, 2);
});

test("a budget counts the Pods of a ReplicationController", async () => {
  await using scene = await startScene();
  await scene.create(kinds.replicationController, "web", { spec: workloadSpec({ replicas: 3, selector: labels }) });
  const budget = { selector: { matchLabels: labels }, maxUnavailable: 1 };
  await scene.create(kinds.disruptionBudget, "web", { spec: budget });
  const found = await scene.until(
    kinds.disruptionBudget,
    "web",
    (one) => numberAt(one, ["status", "disruptionsAllowed"]) === 1,
  );
  assert.equal(numberAt(found, ["status", "expectedPods"]), 3);
});
