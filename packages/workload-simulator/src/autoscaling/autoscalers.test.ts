// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, type KubeObject, numberAt } from "@purlin/kube-objects/object";
import { startScene, workloadSpec } from "../../test/world.ts";
import { kinds } from "../kinds.ts";

const scalerOf = (name: string): JsonObject => ({
  spec: { scaleTargetRef: { ...kinds.deployment, name }, minReplicas: 2, maxReplicas: 3 },
});
const reasonOf = (object: KubeObject, type: string): string | undefined =>
  conditionsOf(object).find((condition) => condition.type === type)?.reason;

test("an autoscaler keeps its target between its bounds, and says that there are no metrics", async () => {
  await using scene = await startScene();
  await scene.create(kinds.deployment, "web", { spec: workloadSpec({ replicas: 1 }) });
  await scene.create(kinds.autoscaler, "web", scalerOf("web"));
  const isReady = (count: number) => (one: KubeObject) => numberAt(one, ["status", "readyReplicas"]) === count;
  await scene.until(kinds.deployment, "web", isReady(2));
  const scaler = await scene.until(
    kinds.autoscaler,
    "web",
    (one) => reasonOf(one, "ScalingActive") === "FailedGetResourceMetric",
  );
  assert.equal(numberAt(scaler, ["status", "desiredReplicas"]), 2);
  await scene.patch(kinds.deployment, "web", { spec: { replicas: 9 } });
  await scene.until(kinds.deployment, "web", (one) => numberAt(one, ["spec", "replicas"]) === 3);
  await scene.until(kinds.deployment, "web", isReady(3));
  await scene.patch(kinds.deployment, "web", { spec: { replicas: 0 } });
  await scene.until(kinds.autoscaler, "web", (one) => reasonOf(one, "ScalingActive") === "ScalingDisabled");
});

test("an autoscaler without a target says so, and follows the target once it exists", async () => {
  await using scene = await startScene();
  await scene.create(kinds.autoscaler, "web", scalerOf("web"));
  await scene.until(kinds.autoscaler, "web", (one) => reasonOf(one, "AbleToScale") === "FailedGetScale");
  await scene.create(kinds.deployment, "web", { spec: workloadSpec({ replicas: 1 }) });
  await scene.until(kinds.deployment, "web", (one) => numberAt(one, ["spec", "replicas"]) === 2);
});
