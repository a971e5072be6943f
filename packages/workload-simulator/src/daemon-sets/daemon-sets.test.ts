// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, numberAt } from "@purlin/kube-objects/object";
import { startScene, workloadSpec } from "../../test/world.ts";
import { kinds } from "../kinds.ts";

test("a DaemonSet has one Pod on the simulated node, which an update replaces", async () => {
  await using scene = await startScene();
  const isDone = (set: KubeObject): boolean =>
    numberAt(set, ["status", "observedGeneration"]) === set.metadata.generation &&
    numberAt(set, ["status", "updatedNumberScheduled"]) === 1 &&
    numberAt(set, ["status", "numberAvailable"]) === 1;
  await scene.create(kinds.daemonSet, "agent", { spec: workloadSpec() });
  await scene.until(kinds.daemonSet, "agent", isDone);
  const [first] = await scene.list(kinds.pod);
  await scene.patch(kinds.daemonSet, "agent", {
    spec: { template: { spec: { containers: [{ name: "main", image: "nginx:2" }] } } },
  });
  const set = await scene.until(kinds.daemonSet, "agent", isDone);
  const pods = await scene.list(kinds.pod);
  assert.equal(pods.length, 1);
  assert.notEqual(pods[0]?.metadata.name, first?.metadata.name);
  assert.deepEqual(await scene.reasons(set), ["SuccessfulCreate", "SuccessfulDelete", "SuccessfulCreate"]);
});
