// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, numberAt, objectAt } from "@purlin/kube-objects/object";
import { startScene, workloadSpec } from "../../test/world.ts";
import { kinds } from "../kinds.ts";

const budgetSpec = (fields: JsonObject): JsonObject => ({
  spec: { selector: { matchLabels: { app: "web" } }, ...fields },
});
const allows = (count: number) => (budget: KubeObject) => numberAt(budget, ["status", "disruptionsAllowed"]) === count;

test("a budget allows as many evictions as it can spare, and each counts until its Pod is replaced", async () => {
  await using scene = await startScene();
  await scene.create(kinds.deployment, "web", { spec: workloadSpec({ replicas: 3 }) });
  await scene.create(kinds.disruptionBudget, "share", budgetSpec({ minAvailable: "50%" }));
  const budget = await scene.until(kinds.disruptionBudget, "share", allows(1));
  const { conditions: _conditions, ...counts } = objectAt(budget, ["status"]);
  const expected = {
    disruptionsAllowed: 1,
    currentHealthy: 3,
    desiredHealthy: 2,
    expectedPods: 3,
    observedGeneration: 1,
  };
  assert.deepEqual(counts, expected);
  const [pod] = await scene.list(kinds.pod);
  const { name = "", namespace = "" } = pod?.metadata ?? {};
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } };
  await scene.client.raw({ method: "POST", path: `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, body });
  await eventually("the Pod is replaced", async () => {
    const pods = await scene.list(kinds.pod);
    return pods.length === 3 && pods.every(({ metadata }) => metadata.name !== name);
  });
  const after = await scene.until(kinds.disruptionBudget, "share", allows(1));
  assert.deepEqual(objectAt(after, ["status", "disruptedPods"]), {});
});

test("a budget of Pods that are not ready allows nothing", async () => {
  await using scene = await startScene();
  const annotations = { "simulation.purlin.dev/outcome": "ImagePullBackOff" };
  await scene.create(kinds.deployment, "web", { spec: workloadSpec({ replicas: 2 }, annotations) });
  await scene.create(kinds.disruptionBudget, "web", budgetSpec({ maxUnavailable: 1 }));
  const budget = await scene.until(
    kinds.disruptionBudget,
    "web",
    (one) => numberAt(one, ["status", "expectedPods"]) === 2,
  );
  assert.equal(numberAt(budget, ["status", "disruptionsAllowed"]), 0);
  assert.equal(numberAt(budget, ["status", "desiredHealthy"]), 1);
});
