// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import { type KubeObject, numberAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { startScene, workloadSpec } from "../../test/world.ts";
import { kinds } from "../kinds.ts";

const isUpdated = (set: KubeObject): boolean => {
  const count = (field: string): number => numberAt(set, ["status", field]);
  const isSeen = count("observedGeneration") === set.metadata.generation;
  return isSeen && count("updatedReplicas") === 3 && count("availableReplicas") === 3;
};

test("the Pods of a StatefulSet have names in order, and a new template replaces them all", async () => {
  await using scene = await startScene();
  await scene.create(kinds.statefulSet, "db", { spec: workloadSpec({ replicas: 3, serviceName: "db" }) });
  const set = await scene.until(kinds.statefulSet, "db", isUpdated);
  const names = async (): Promise<unknown[]> => (await scene.list(kinds.pod)).map(({ metadata }) => metadata.name);
  assert.deepEqual(await names(), ["db-0", "db-1", "db-2"]);
  assert.equal(stringAt(set, ["status", "currentRevision"]), stringAt(set, ["status", "updateRevision"]));
  const template = { spec: { containers: [{ name: "main", image: "nginx:2" }] } };
  await scene.patch(kinds.statefulSet, "db", { spec: { template } });
  const after = await scene.until(
    kinds.statefulSet,
    "db",
    (one) =>
      isUpdated(one) && stringAt(one, ["status", "currentRevision"]) !== stringAt(set, ["status", "currentRevision"]),
  );
  assert.equal(numberAt(after, ["status", "currentReplicas"]), 3);
  assert.deepEqual((await names()).toSorted(), ["db-0", "db-1", "db-2"]);
  await scene.patch(kinds.statefulSet, "db", { spec: { replicas: 1 } });
  await scene.until(kinds.statefulSet, "db", (one) => numberAt(one, ["status", "replicas"]) === 1);
  assert.deepEqual(await names(), ["db-0"]);
});

test("an ordered StatefulSet does not continue after a Pod that is not ready; a parallel one does", async () => {
  await using scene = await startScene();
  const annotations = { "simulation.purlin.dev/outcome": "ImagePullBackOff" };
  await scene.create(kinds.statefulSet, "stuck", {
    spec: workloadSpec({ replicas: 3, serviceName: "db" }, annotations),
  });
  const labels = { app: "parallel" };
  const template = { metadata: { labels, annotations }, spec: { containers: [{ name: "main", image: "nginx" }] } };
  const spec = {
    replicas: 3,
    serviceName: "db",
    podManagementPolicy: "Parallel",
    selector: { matchLabels: labels },
    template,
  };
  await scene.create(kinds.statefulSet, "parallel", { spec });
  await scene.until(kinds.statefulSet, "parallel", (one) => numberAt(one, ["status", "replicas"]) === 3);
  assert.equal(numberAt(await scene.get(kinds.statefulSet, "stuck"), ["status", "replicas"]), 1);
});

test("a partition keeps the Pods below it on the old revision, also when they are created again", async () => {
  await using scene = await startScene();
  const updateStrategy = { rollingUpdate: { partition: 2 } };
  await scene.create(kinds.statefulSet, "db", {
    spec: workloadSpec({ replicas: 3, serviceName: "db", updateStrategy }),
  });
  await scene.until(kinds.statefulSet, "db", isUpdated);
  const template = { spec: { containers: [{ name: "main", image: "nginx:2" }] } };
  await scene.patch(kinds.statefulSet, "db", { spec: { template } });
  const isPartial = (set: KubeObject): boolean =>
    numberAt(set, ["status", "updatedReplicas"]) === 1 && numberAt(set, ["status", "availableReplicas"]) === 3;
  await scene.until(kinds.statefulSet, "db", isPartial);
  const images = async (): Promise<unknown[]> =>
    (await scene.list(kinds.pod)).map((pod) => stringAt(objectsAt(pod, ["spec", "containers"])[0] ?? {}, ["image"]));
  assert.deepEqual(await images(), ["nginx:1", "nginx:1", "nginx:2"]);
  const before = await scene.get(kinds.pod, "db-0");
  await scene.client.delete({ ...kinds.pod, namespace: "default", name: "db-0" });
  await eventually("db-0 is created again", async () => {
    const [first] = await scene.list(kinds.pod);
    return first?.metadata.name === "db-0" && first.metadata.uid !== before.metadata.uid;
  });
  await scene.until(kinds.statefulSet, "db", isPartial);
  assert.deepEqual(await images(), ["nginx:1", "nginx:1", "nginx:2"]);
});
